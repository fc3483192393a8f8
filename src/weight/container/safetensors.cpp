#include <zllm/weight/container/safetensors.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <string_view>

#include <zllm/base/checked.h>
#include <zllm/base/json.h>
#include <zllm/base/text.h>
#include <zllm/weight/container/tensor_table.h>

namespace zllm::weight {
namespace {

constexpr std::size_t kLengthBytes = 8;
constexpr std::string_view kMetadataKey = "__metadata__";

// The element types of the format; their names are those of the encodings.
constexpr std::array<std::string_view, 16> kTypes = {
    "F64", "F32", "F16", "BF16", "F8_E4M3", "F8_E5M2", "F8_E8M0", "I64",
    "I32", "I16", "I8",  "U64",  "U32",     "U16",     "U8",      "BOOL"};
constexpr std::array<std::string_view, 6> kUnsupportedTypes = {
    "F4", "F6_E2M3", "F6_E3M2", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "C64"};

struct DataRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::size_t tensor = 0;
};

Error invalid(std::string message) { return Error{Code::invalid_file, std::move(message)}; }

Error within_tensor(Error error, std::string_view name) {
  return std::move(error).within(concat("tensor ", quote(name)));
}

Result<std::string_view> header_text(std::span<const std::byte> file) {
  if (file.size() < kLengthBytes) {
    return invalid(concat("not a safetensors file: it has only ", file.size(), " bytes"));
  }
  static_assert(std::endian::native == std::endian::little, "read without swapping bytes");
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof(length));
  if (length > kSafetensorsHeaderLimit) {
    return invalid(concat("the header length is ", length, ", over the format's limit of ",
                          kSafetensorsHeaderLimit));
  }
  if (length > file.size() - kLengthBytes) {
    return invalid(
        concat("the header length is ", length, ", beyond the file's ", file.size(), " bytes"));
  }
  const std::string_view text(reinterpret_cast<const char *>(file.data()) + kLengthBytes,
                              static_cast<std::size_t>(length));
  if (!text.starts_with('{')) {
    return invalid("the header does not start with '{'");
  }
  return text;
}

Result<const Json *> field(const Json& tensor, std::string_view name) {
  const Json *value = tensor.find(name);
  if (value == nullptr) {
    return invalid(concat("has no field '", name, "'"));
  }
  return value;
}

Result<encoding::Encoding> read_type(const Json& tensor) {
  ZLLM_TRY(const Json *value, field(tensor, "dtype"));
  const std::string *name = value->as_string();
  if (name == nullptr) {
    return invalid(concat("'dtype' is of type ", value->type_name(), ", not string"));
  }
  if (std::ranges::find(kUnsupportedTypes, *name) != kUnsupportedTypes.end()) {
    return Error{Code::unsupported, concat("'dtype' ", *name, " is not supported")};
  }
  const auto encoding = encoding::encoding_named(*name);
  if (!encoding || std::ranges::find(kTypes, *name) == kTypes.end()) {
    return invalid(concat("unknown 'dtype' ", quote(*name)));
  }
  return *encoding;
}

// An array of unsigned integers.
Result<std::vector<std::uint64_t>> read_integers(const Json& tensor, std::string_view name) {
  ZLLM_TRY(const Json *value, field(tensor, name));
  const Json::Array *array = value->as_array();
  if (array == nullptr) {
    return invalid(concat("'", name, "' is of type ", value->type_name(), ", not array"));
  }
  if (array->size() > kSafetensorsRankLimit) {
    return invalid(concat("'", name, "' has ", array->size(), " items, over the limit of ",
                          kSafetensorsRankLimit));
  }
  std::vector<std::uint64_t> integers(array->size());
  for (std::size_t i = 0; i < integers.size(); ++i) {
    if (!(*array)[i].as_unsigned(integers[i])) {
      return invalid(concat("item ", i, " of '", name, "' is ", quote((*array)[i].dump()),
                            ", not an unsigned integer"));
    }
  }
  return integers;
}

Result<std::uint64_t> tensor_size(encoding::Encoding encoding,
                                  const std::vector<std::uint64_t>& shape) {
  std::optional<std::uint64_t> size = encoding::info(encoding).block_bytes;
  for (const std::uint64_t dimension : shape) {
    size = checked_multiply(*size, dimension);
    if (!size) {
      return invalid("the product of 'shape' is over 64 bits");
    }
  }
  return *size;
}

Result<DataRange> read_range(const Json& tensor, std::uint64_t size, std::uint64_t data_size) {
  ZLLM_TRY(const auto offsets, read_integers(tensor, "data_offsets"));
  if (offsets.size() != 2) {
    return invalid(concat("'data_offsets' has ", offsets.size(), " items, not 2"));
  }
  const DataRange range = {offsets[0], offsets[1]};
  if (range.begin > range.end) {
    return invalid(
        concat("'data_offsets' end at ", range.end, ", before they begin at ", range.begin));
  }
  if (range.end > data_size) {
    return invalid(
        concat("'data_offsets' end at ", range.end, ", beyond the ", data_size, " bytes of data"));
  }
  if (range.end - range.begin != size) {
    return invalid(concat("'data_offsets' span ", range.end - range.begin,
                          " bytes, but 'dtype' and 'shape' need ", size));
  }
  return range;
}

Result<DataRange> read_tensor(const Json& json, std::span<const std::byte> data,
                              SafetensorsTensor& tensor) {
  if (json.as_object() == nullptr) {
    return invalid(concat("is of type ", json.type_name(), ", not object"));
  }
  if (tensor.name.empty() || tensor.name.size() > kTensorNameLimit ||
      tensor.name.find('\0') != std::string::npos) {
    return invalid(concat("the name has ", tensor.name.size(), " bytes, not 1 to ",
                          kTensorNameLimit, " without a zero byte"));
  }
  ZLLM_TRY(tensor.encoding, read_type(json));
  ZLLM_TRY(tensor.shape, read_integers(json, "shape"));
  ZLLM_TRY(const auto size, tensor_size(tensor.encoding, tensor.shape));
  ZLLM_TRY(const DataRange range, read_range(json, size, data.size()));
  tensor.bytes =
      data.subspan(static_cast<std::size_t>(range.begin), static_cast<std::size_t>(size));
  return range;
}

Status read_metadata(const Json& json, SafetensorsContents& contents) {
  const Json::Object *object = json.as_object();
  if (object == nullptr) {
    return invalid(concat("'__metadata__' is of type ", json.type_name(), ", not object"));
  }
  for (const auto& [key, value] : *object) {
    const std::string *text = value.as_string();
    if (text == nullptr) {
      return invalid(concat("'__metadata__' has under ", quote(key), " a ", value.type_name(),
                            ", not a string"));
    }
    contents.metadata.emplace_back(key, *text);
  }
  return {};
}

Status check_coverage(std::vector<DataRange> ranges, std::uint64_t data_size,
                      const std::vector<SafetensorsTensor>& tensors) {
  std::ranges::sort(ranges, [](const DataRange& a, const DataRange& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t covered = 0;
  for (const DataRange& range : ranges) {
    if (range.begin != covered) {
      const std::string_view problem = range.begin < covered ? "they overlap" : "there is a hole";
      return within_tensor(
          invalid(concat("'data_offsets' begin at ", range.begin,
                         ", but the tensors before end at ", covered, ": ", problem)),
          tensors[range.tensor].name);
    }
    covered = range.end;
  }
  if (covered != data_size) {
    return invalid(concat("the tensors end at ", covered, " of ", data_size,
                          " bytes of data: the rest belongs to none"));
  }
  return {};
}

}  // namespace

Result<SafetensorsContents> parse_safetensors(std::span<const std::byte> file) {
  ZLLM_TRY(const auto text, header_text(file));
  ZLLM_TRY(const Json header, Json::parse(text, "the header"));
  if (header.as_object() == nullptr) {
    return invalid("the header is not a JSON object");
  }
  const auto data = file.subspan(kLengthBytes + text.size());
  SafetensorsContents contents;
  std::vector<DataRange> ranges;
  for (const auto& [name, value] : *header.as_object()) {
    if (name == kMetadataKey) {
      ZLLM_TRY(read_metadata(value, contents));
      continue;
    }
    SafetensorsTensor tensor;
    tensor.name = name;
    auto range = read_tensor(value, data, tensor);
    if (!range.ok()) {
      return within_tensor(std::move(range).error(), name);
    }
    range->tensor = contents.tensors.size();
    ranges.push_back(*range);
    contents.tensors.push_back(std::move(tensor));
  }
  ZLLM_TRY(check_coverage(std::move(ranges), data.size(), contents.tensors));
  return contents;
}

}  // namespace zllm::weight
