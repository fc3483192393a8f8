#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/weight/assembly/metadata_reader.h>

// What the GGUF metadata of all families with experts have in common.
namespace zllm::weight {

// The index of general.architecture among those of a family.
Result<std::size_t> gguf_family_of(const GgufMetadata& metadata,
                                   std::span<const std::string_view> architectures);

// Refuses files that are no whole model, and keys that would change the dataflow.
Status refuse_gguf_knobs(const MetadataReader& metadata);

struct GgufSizes {
  std::uint32_t hidden = 0;
  std::uint32_t blocks = 0;  // layers, and those behind them that draft tokens
  std::uint32_t layers = 0;
  std::uint64_t max_positions = 0;
  double norm_epsilon = 0;
};
// block_count, nextn_predict_layers, embedding_length, context_length and
// attention.layer_norm_rms_epsilon.
Result<GgufSizes> gguf_sizes(const MetadataReader& metadata);

// "blk.46." ... of the layers that draft tokens.
std::vector<std::string> gguf_draft_prefixes(std::uint32_t layers, std::uint32_t blocks);

}  // namespace zllm::weight
