#include <zllm/weight/container/gguf.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

#include <zllm/base/checked.h>
#include <zllm/base/text.h>
#include <zllm/base/utf8.h>
#include <zllm/weight/container/gguf_reader.h>
#include <zllm/weight/container/gguf_tensor_type.h>
#include <zllm/weight/container/gguf_value.h>
#include <zllm/weight/container/tensor_table.h>

namespace zllm::weight {
namespace {

constexpr std::string_view kAlignmentKey = "general.alignment";
constexpr std::uint64_t kDefaultAlignment = 32;
// The least bytes that a key with its value and a tensor info take: counts are held against them.
constexpr std::uint64_t kSmallestKeyValue = 8 + 1 + 4 + 1;
constexpr std::uint64_t kSmallestTensorInfo = 8 + 1 + 4 + 8 + 4 + 8;

struct Header {
  std::uint32_t version = 0;
  std::uint64_t tensors = 0;
  std::uint64_t keys = 0;
};

struct TensorInfo {
  GgufTensor tensor;
  std::uint64_t offset = 0;  // from the start of the data
  std::uint64_t size = 0;
};

Error invalid(std::string message) { return Error{Code::invalid_file, std::move(message)}; }

Status check_version(std::uint32_t version) {
  if (version == 2 || version == 3) {
    return {};
  }
  if (version == 1) {
    return Error{Code::unsupported, "GGUF version 1 is not supported: convert the file again"};
  }
  if (version != 0 && (version & 0xffff) == 0) {
    return Error{Code::unsupported, "a big-endian GGUF file is not supported: convert it again"};
  }
  return invalid(concat("unknown GGUF version ", version));
}

Status check_count(std::string_view what, std::uint64_t count, std::uint64_t limit,
                   std::uint64_t smallest, std::size_t remaining) {
  if (count > limit) {
    return invalid(concat(what, " is ", count, ", over the limit of ", limit));
  }
  if (count > remaining / smallest) {
    return invalid(concat(what, " is ", count, ", more than the file's ", remaining,
                          " bytes after the header can hold"));
  }
  return {};
}

Result<Header> read_header(GgufReader& reader) {
  ZLLM_TRY(const auto magic, reader.bytes(kGgufMagic.size(), "the magic number"));
  if (!std::ranges::equal(magic, std::as_bytes(std::span(kGgufMagic)))) {
    return invalid("not a GGUF file: it does not start with 'GGUF'");
  }
  Header header;
  ZLLM_TRY(header.version, reader.number<std::uint32_t>("the version"));
  ZLLM_TRY(check_version(header.version));
  ZLLM_TRY(header.tensors, reader.number<std::uint64_t>("the tensor count"));
  ZLLM_TRY(header.keys, reader.number<std::uint64_t>("the metadata key count"));
  ZLLM_TRY(check_count("the metadata key count", header.keys, kGgufKeyLimit, kSmallestKeyValue,
                       reader.remaining()));
  ZLLM_TRY(check_count("the tensor count", header.tensors, kGgufTensorLimit, kSmallestTensorInfo,
                       reader.remaining()));
  return header;
}

// A key or a tensor's name: not empty, bounded, UTF-8, and without zero bytes, at which some
// readers would end it.
Result<std::string_view> read_name(GgufReader& reader, std::string_view what, std::uint64_t limit) {
  ZLLM_TRY(const auto length, reader.number<std::uint64_t>(what));
  if (length == 0) {
    return invalid(concat(what, " is empty"));
  }
  if (length > limit) {
    return invalid(concat(what, " has ", length, " bytes, over the limit of ", limit));
  }
  ZLLM_TRY(const auto bytes, reader.bytes(length, what));
  const std::string_view name(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  if (!is_valid_utf8(name) || name.find('\0') != std::string_view::npos) {
    return invalid(concat(what, " is not valid UTF-8 without zero bytes: ", quote(name)));
  }
  return name;
}

Status check_alignment(std::uint32_t type, const GgufValue& value) {
  if (type != static_cast<std::uint32_t>(GgufValueType::u32)) {
    return invalid(concat("has type ", gguf_value_type_name(type), ", not u32"));
  }
  const std::uint64_t alignment = *std::get_if<std::uint64_t>(&value);
  if (!std::has_single_bit(alignment) || alignment < kGgufAlignmentMinimum ||
      alignment > kGgufAlignmentLimit) {
    return invalid(concat("is ", alignment, ", not a power of two from ", kGgufAlignmentMinimum,
                          " to ", kGgufAlignmentLimit));
  }
  return {};
}

Result<GgufMetadata> read_metadata(GgufReader& reader, std::uint64_t count) {
  GgufMetadata metadata;
  std::uint64_t array_items_left = kGgufArrayItemsLimit;
  for (std::uint64_t i = 0; i < count; ++i) {
    ZLLM_TRY(const auto key,
             read_name(reader, concat("the name of metadata key ", i), kGgufKeyLengthLimit));
    const auto where = [&] { return concat("metadata key ", quote(key)); };
    auto type = reader.number<std::uint32_t>("the value type");
    if (!type.ok()) {
      return std::move(type).error().within(where());
    }
    auto value = read_gguf_value(reader, *type, array_items_left);
    if (!value.ok()) {
      return std::move(value).error().within(where());
    }
    if (key == kAlignmentKey) {
      if (Status status = check_alignment(*type, *value); !status.ok()) {
        return std::move(status).error().within(where());
      }
    }
    ZLLM_TRY(metadata.add(key, std::move(value).value()));
  }
  return metadata;
}

// Dimensions come fastest first and leave reversed.
Result<std::vector<std::uint64_t>> read_shape(GgufReader& reader) {
  ZLLM_TRY(const auto rank, reader.number<std::uint32_t>("the number of dimensions"));
  if (rank == 0 || rank > kGgufDimensionLimit) {
    return invalid(concat("has ", rank, " dimensions, not 1 to ", kGgufDimensionLimit));
  }
  std::vector<std::uint64_t> shape(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    ZLLM_TRY(shape[rank - 1 - i], reader.number<std::uint64_t>("the dimensions"));
    if (shape[rank - 1 - i] == 0) {
      return invalid(concat("dimension ", i, " is 0"));
    }
  }
  return shape;
}

Result<std::uint64_t> tensor_size(encoding::Encoding encoding,
                                  const std::vector<std::uint64_t>& shape) {
  const encoding::EncodingInfo& format = encoding::info(encoding);
  const std::uint64_t columns = shape.back();
  if (columns % format.block_elements != 0) {
    return invalid(concat("dimension 0 is ", columns, ", no multiple of the ",
                          format.block_elements, " elements of a block of ", format.name));
  }
  std::optional<std::uint64_t> size = encoding::row_bytes(encoding, columns);
  for (std::size_t i = 0; size && i + 1 < shape.size(); ++i) {
    size = checked_multiply(*size, shape[i]);
  }
  if (!size) {
    return invalid("the product of the dimensions is over 64 bits");
  }
  return *size;
}

// What follows the name.
Status read_tensor_fields(GgufReader& reader, std::uint64_t alignment, TensorInfo& info) {
  ZLLM_TRY(info.tensor.shape, read_shape(reader));
  ZLLM_TRY(const auto type, reader.number<std::uint32_t>("the tensor type"));
  ZLLM_TRY(info.tensor.encoding, gguf_tensor_encoding(type));
  ZLLM_TRY(info.size, tensor_size(info.tensor.encoding, info.tensor.shape));
  ZLLM_TRY(info.offset, reader.number<std::uint64_t>("the offset"));
  if (info.offset % alignment != 0) {
    return invalid(concat("offset ", info.offset, " is no multiple of the alignment ", alignment));
  }
  return {};
}

Error within_tensor(Error error, std::string_view name) {
  return std::move(error).within(concat("tensor ", quote(name)));
}

Result<std::vector<TensorInfo>> read_tensor_infos(GgufReader& reader, std::uint64_t count,
                                                  std::uint64_t alignment) {
  std::vector<TensorInfo> infos(static_cast<std::size_t>(count));
  std::unordered_set<std::string_view> names;
  names.reserve(infos.size());
  for (std::size_t i = 0; i < infos.size(); ++i) {
    TensorInfo& info = infos[i];
    ZLLM_TRY(info.tensor.name,
             read_name(reader, concat("the name of tensor ", i), kTensorNameLimit));
    if (!names.insert(info.tensor.name).second) {
      return within_tensor(invalid("is there twice"), info.tensor.name);
    }
    if (Status status = read_tensor_fields(reader, alignment, info); !status.ok()) {
      return within_tensor(std::move(status).error(), info.tensor.name);
    }
  }
  return infos;
}

// Gives every tensor its bytes, which start behind the infos at the next multiple of the alignment.
Status place_tensors(std::span<const std::byte> file, std::uint64_t infos_end,
                     std::uint64_t alignment, std::vector<TensorInfo>& infos) {
  const std::uint64_t padding = (alignment - infos_end % alignment) % alignment;
  const std::uint64_t data_start = infos_end + padding;
  for (TensorInfo& info : infos) {
    const auto start = checked_add(data_start, info.offset);
    const auto end = start ? checked_add(*start, info.size) : std::nullopt;
    if (!end || *end > file.size()) {
      return within_tensor(
          invalid(concat(info.size, " bytes at offset ", info.offset, " of the data at ",
                         data_start, " reach beyond the file's ", file.size(), " bytes")),
          info.tensor.name);
    }
    info.tensor.bytes =
        file.subspan(static_cast<std::size_t>(*start), static_cast<std::size_t>(info.size));
  }
  return {};
}

Status refuse_overlaps(const std::vector<TensorInfo>& infos) {
  std::vector<const TensorInfo *> by_offset(infos.size());
  std::ranges::transform(infos, by_offset.begin(), [](const TensorInfo& info) { return &info; });
  std::ranges::sort(by_offset, {}, &TensorInfo::offset);
  for (std::size_t i = 1; i < by_offset.size(); ++i) {
    const TensorInfo& before = *by_offset[i - 1];
    if (before.offset + before.size > by_offset[i]->offset) {
      return within_tensor(invalid(concat("overlaps tensor ", quote(before.tensor.name))),
                           by_offset[i]->tensor.name);
    }
  }
  return {};
}

}  // namespace

Result<GgufContents> parse_gguf(std::span<const std::byte> file) {
  GgufReader reader(file);
  ZLLM_TRY(const Header header, read_header(reader));
  GgufContents contents;
  contents.version = header.version;
  ZLLM_TRY(contents.metadata, read_metadata(reader, header.keys));
  ZLLM_TRY(const auto given_alignment, contents.metadata.unsigned_integer(kAlignmentKey));
  const std::uint64_t alignment = given_alignment.value_or(kDefaultAlignment);
  ZLLM_TRY(auto infos, read_tensor_infos(reader, header.tensors, alignment));
  ZLLM_TRY(place_tensors(file, reader.position(), alignment, infos));
  ZLLM_TRY(refuse_overlaps(infos));
  contents.tensors.reserve(infos.size());
  for (TensorInfo& info : infos) {
    contents.tensors.push_back(std::move(info.tensor));
  }
  return contents;
}

}  // namespace zllm::weight
