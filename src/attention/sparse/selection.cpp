#include <zllm/attention/sparse/selection.h>

#include <string_view>

#include <zllm/base/text.h>

namespace zllm::attention::sparse {
namespace {

constexpr std::size_t kCountBytes = 8;
constexpr std::size_t kPositionBytes = 4;

Error refused(std::string_view reason) {
  return {Code::invalid_argument, concat("selection: ", reason)};
}

void append_little_endian(std::vector<std::byte>& bytes, std::uint64_t value, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i) {
    bytes.push_back(static_cast<std::byte>((value >> (8 * i)) & 0xffu));
  }
}

std::uint64_t little_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    value |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  }
  return value;
}

bool ascending(std::span<const std::uint32_t> positions) {
  for (std::size_t i = 1; i < positions.size(); ++i) {
    if (positions[i] <= positions[i - 1]) {
      return false;
    }
  }
  return true;
}

// Every row's number of positions, from the front of the bytes that follow the row count. No count
// is believed before that many bytes are there.
Result<std::vector<std::size_t>> row_counts(std::uint64_t rows, std::span<const std::byte> bytes) {
  if (rows > bytes.size() / kCountBytes) {
    return refused(concat("truncated: ", rows, " rows in ", bytes.size(), " bytes"));
  }
  std::vector<std::size_t> counts(static_cast<std::size_t>(rows));
  std::size_t left = bytes.size() - counts.size() * kCountBytes;
  for (std::size_t row = 0; row < counts.size(); ++row) {
    const std::uint64_t count = little_endian(bytes.subspan(row * kCountBytes, kCountBytes));
    if (count > left / kPositionBytes) {
      return refused(concat("row ", row, ": truncated: ", count, " positions in ", left, " bytes"));
    }
    counts[row] = static_cast<std::size_t>(count);
    left -= counts[row] * kPositionBytes;
  }
  if (left != 0) {
    return refused(concat("too long: ", left, " bytes follow the last of ", rows, " rows"));
  }
  return counts;
}

}  // namespace

void Selection::clear() {
  ends_.clear();
  positions_.clear();
}

void Selection::append_row(std::span<const std::uint32_t> positions) {
  ZLLM_CHECK(ascending(positions), "selection: positions of a row must be ascending and distinct");
  positions_.insert(positions_.end(), positions.begin(), positions.end());
  ends_.push_back(positions_.size());
}

std::span<const std::uint32_t> Selection::row(std::size_t index) const {
  ZLLM_CHECK(index < ends_.size(), "selection: no such row");
  const auto begin = static_cast<std::size_t>(index == 0 ? 0 : ends_[index - 1]);
  const auto end = static_cast<std::size_t>(ends_[index]);
  return std::span(positions_).subspan(begin, end - begin);
}

std::vector<std::byte> Selection::to_bytes() const {
  std::vector<std::byte> bytes;
  bytes.reserve(kCountBytes * (1 + ends_.size()) + kPositionBytes * positions_.size());
  append_little_endian(bytes, ends_.size(), kCountBytes);
  std::uint64_t begin = 0;
  for (const std::uint64_t end : ends_) {
    append_little_endian(bytes, end - begin, kCountBytes);
    begin = end;
  }
  for (const std::uint32_t position : positions_) {
    append_little_endian(bytes, position, kPositionBytes);
  }
  return bytes;
}

Result<Selection> Selection::from_bytes(std::span<const std::byte> bytes) {
  if (bytes.size() < kCountBytes) {
    return refused(concat("truncated: no row count in ", bytes.size(), " bytes"));
  }
  const std::uint64_t rows = little_endian(bytes.first(kCountBytes));
  ZLLM_TRY(const auto counts, row_counts(rows, bytes.subspan(kCountBytes)));
  auto rest = bytes.subspan(kCountBytes * (1 + counts.size()));
  Selection selection;
  selection.ends_.reserve(counts.size());
  selection.positions_.reserve(rest.size() / kPositionBytes);
  for (std::size_t row = 0; row < counts.size(); ++row) {
    for (std::size_t i = 0; i < counts[row]; ++i) {
      const auto position = static_cast<std::uint32_t>(little_endian(rest.first(kPositionBytes)));
      if (i != 0 && position <= selection.positions_.back()) {
        return refused(concat("row ", row, ": position ", position, " follows ",
                              selection.positions_.back(), " and must be above it"));
      }
      selection.positions_.push_back(position);
      rest = rest.subspan(kPositionBytes);
    }
    selection.ends_.push_back(selection.positions_.size());
  }
  return selection;
}

Status check_visible(const Selection& selection, std::span<const std::uint64_t> query_positions) {
  if (selection.rows() != query_positions.size()) {
    return refused(
        concat(selection.rows(), " rows for ", query_positions.size(), " query positions"));
  }
  for (std::size_t row = 0; row < query_positions.size(); ++row) {
    const auto positions = selection.row(row);
    if (!positions.empty() && positions.back() > query_positions[row]) {
      return refused(concat("row ", row, ": position ", positions.back(),
                            " is later than its query at ", query_positions[row]));
    }
  }
  return {};
}

}  // namespace zllm::attention::sparse
