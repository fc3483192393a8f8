#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <zllm/base/result.h>
#include <zllm/weight/container/gguf_metadata.h>

namespace zllm::weight {

// Split sets of GGUF: which part of how many a file is, by its metadata and by its name
// (<prefix>-00001-of-00003.gguf, counted from 1).
struct GgufSplit {
  std::uint64_t number = 0;  // from 0
  std::uint64_t count = 1;
  std::optional<std::uint64_t> tensors;  // of all parts together
};

constexpr std::uint64_t kGgufSplitLimit = 99999;  // what five digits of a name can count

// The keys split.no, split.count and split.tensors.count; a file without the second is whole.
Result<GgufSplit> read_gguf_split(const GgufMetadata& metadata);

// The prefix of a part's path; nothing when the path does not end as such a part's.
std::optional<std::string> gguf_split_prefix(std::string_view path, const GgufSplit& split);
std::string gguf_split_path(std::string_view prefix, const GgufSplit& split);

}  // namespace zllm::weight
