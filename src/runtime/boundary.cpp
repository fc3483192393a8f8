#include <zllm/runtime/boundary.h>

#include <bit>
#include <concepts>
#include <string_view>
#include <utility>

#include <zllm/base/check.h>
#include <zllm/base/checked.h>
#include <zllm/base/text.h>

namespace zllm::runtime {
namespace {

// The header, every field little-endian: magic, version, streams, hidden (32 bits each), rows,
// bytes of the selection (64 bits each; kNoSelection where there is none). The values follow, then
// the selection.
constexpr std::uint32_t kMagic = 0x444E425A;  // "ZBND"
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHeaderBytes = 32;
constexpr std::uint64_t kNoSelection = UINT64_MAX;

template <std::unsigned_integral T>
void append(std::vector<std::byte>& bytes, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    bytes.push_back(static_cast<std::byte>(value >> (8 * i) & 0xFF));
  }
}

template <std::unsigned_integral T>
T read(std::span<const std::byte> bytes, std::size_t offset) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    value |= static_cast<T>(static_cast<T>(bytes[offset + i]) << (8 * i));
  }
  return value;
}

Error invalid(std::string_view what) {
  return Error{Code::invalid_argument, concat("boundary: ", what)};
}

struct Header {
  std::uint32_t streams = 0;
  std::uint32_t hidden = 0;
  std::uint64_t rows = 0;
  std::uint64_t value_count = 0;
  std::uint64_t selection_bytes = kNoSelection;
};

// Everything that the first bytes and the whole size decide.
Result<Header> read_header(std::span<const std::byte> bytes) {
  if (bytes.size() < kHeaderBytes) {
    return invalid(concat(bytes.size(), " bytes are less than a header of ", kHeaderBytes));
  }
  if (read<std::uint32_t>(bytes, 0) != kMagic) {
    return invalid("the bytes do not start with its magic number");
  }
  if (const auto version = read<std::uint32_t>(bytes, 4); version != kVersion) {
    return invalid(concat("version ", version, " where this build reads ", kVersion));
  }
  Header header{.streams = read<std::uint32_t>(bytes, 8),
                .hidden = read<std::uint32_t>(bytes, 12),
                .rows = read<std::uint64_t>(bytes, 16),
                .value_count = 0,
                .selection_bytes = read<std::uint64_t>(bytes, 24)};
  if (header.streams == 0 || header.hidden == 0) {
    return invalid(
        concat(header.streams, " streams of ", header.hidden, " values: neither may be 0"));
  }
  const std::uint64_t width = std::uint64_t{header.streams} * header.hidden;
  const auto values = checked_multiply(header.rows, width);
  const auto value_bytes = values ? checked_multiply(*values, std::uint64_t{4}) : std::nullopt;
  const std::uint64_t selection =
      header.selection_bytes == kNoSelection ? 0 : header.selection_bytes;
  const auto body = value_bytes ? checked_add(*value_bytes, selection) : std::nullopt;
  if (!body || *body != bytes.size() - kHeaderBytes) {
    return invalid(concat(bytes.size(), " bytes do not hold ", header.rows, " rows of ",
                          header.streams, " streams of ", header.hidden, " values and ", selection,
                          " bytes of selection"));
  }
  header.value_count = *values;
  return header;
}

}  // namespace

std::size_t Boundary::rows() const {
  const std::size_t width = std::size_t{streams} * hidden;
  return width == 0 ? 0 : values.size() / width;
}

Status check(const Boundary& boundary) {
  const std::size_t width = std::size_t{boundary.streams} * boundary.hidden;
  if (width == 0 || boundary.values.size() % width != 0) {
    return invalid(concat(boundary.values.size(), " values are no whole rows of ", boundary.streams,
                          " streams of ", boundary.hidden));
  }
  if (boundary.selection && boundary.selection->rows() != boundary.rows()) {
    return invalid(concat("a selection of ", boundary.selection->rows(), " rows for ",
                          boundary.rows(), " rows of values"));
  }
  return {};
}

std::vector<std::byte> to_bytes(const Boundary& boundary) {
  ZLLM_CHECK(check(boundary).ok(), "a boundary that contradicts itself");
  const std::vector<std::byte> selection =
      boundary.selection ? boundary.selection->to_bytes() : std::vector<std::byte>();
  std::vector<std::byte> bytes;
  bytes.reserve(kHeaderBytes + boundary.values.size() * sizeof(float) + selection.size());
  append(bytes, kMagic);
  append(bytes, kVersion);
  append(bytes, boundary.streams);
  append(bytes, boundary.hidden);
  append(bytes, std::uint64_t{boundary.rows()});
  append(bytes, boundary.selection ? std::uint64_t{selection.size()} : kNoSelection);
  for (const float value : boundary.values) {
    append(bytes, std::bit_cast<std::uint32_t>(value));
  }
  bytes.insert(bytes.end(), selection.begin(), selection.end());
  return bytes;
}

Result<Boundary> boundary_from_bytes(std::span<const std::byte> bytes) {
  ZLLM_TRY(const Header header, read_header(bytes));
  Boundary boundary;
  boundary.streams = header.streams;
  boundary.hidden = header.hidden;
  boundary.values.reserve(header.value_count);
  std::size_t offset = kHeaderBytes;
  for (std::uint64_t i = 0; i < header.value_count; ++i, offset += sizeof(float)) {
    boundary.values.push_back(std::bit_cast<float>(read<std::uint32_t>(bytes, offset)));
  }
  if (header.selection_bytes != kNoSelection) {
    auto selection = attention::sparse::Selection::from_bytes(bytes.subspan(offset));
    if (!selection.ok()) {
      return std::move(selection).error().within("boundary");
    }
    boundary.selection = std::move(selection).value();
  }
  ZLLM_TRY(check(boundary));
  return boundary;
}

}  // namespace zllm::runtime
