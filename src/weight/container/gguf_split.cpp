#include <zllm/weight/container/gguf_split.h>

#include <zllm/base/text.h>

namespace zllm::weight {
namespace {

std::string five_digits(std::uint64_t number) {
  const std::string digits = to_text(number);
  return std::string(5 - digits.size(), '0') + digits;
}

}  // namespace

Result<GgufSplit> read_gguf_split(const GgufMetadata& metadata) {
  GgufSplit split;
  ZLLM_TRY(const auto number, metadata.unsigned_integer("split.no"));
  ZLLM_TRY(const auto count, metadata.unsigned_integer("split.count"));
  ZLLM_TRY(split.tensors, metadata.unsigned_integer("split.tensors.count"));
  if (!count) {
    return GgufSplit{};
  }
  split.count = *count;
  if (split.count == 0 || split.count > kGgufSplitLimit) {
    return Error{Code::invalid_file, concat("metadata key 'split.count' is ", split.count,
                                            ", not 1 to ", kGgufSplitLimit)};
  }
  if (!number && split.count > 1) {
    return Error{Code::invalid_file, "has the metadata key 'split.count' but not 'split.no'"};
  }
  split.number = number.value_or(0);
  if (split.number >= split.count) {
    return Error{Code::invalid_file, concat("metadata key 'split.no' is ", split.number,
                                            ", not below 'split.count' ", split.count)};
  }
  return split;
}

std::optional<std::string> gguf_split_prefix(std::string_view path, const GgufSplit& split) {
  const std::string ending = gguf_split_path("", split);
  if (!path.ends_with(ending)) {
    return std::nullopt;
  }
  return std::string(path.substr(0, path.size() - ending.size()));
}

std::string gguf_split_path(std::string_view prefix, const GgufSplit& split) {
  return concat(prefix, "-", five_digits(split.number + 1), "-of-", five_digits(split.count),
                ".gguf");
}

}  // namespace zllm::weight
