#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/weight/assembly/metadata_reader.h>
#include <zllm/weight/container/gguf_metadata.h>

// What the metadata of all GGUF families have in common.
namespace zllm::weight {

// The index of general.architecture in the list.
Result<std::size_t> gguf_family_of(const GgufMetadata& metadata,
                                   std::span<const std::string_view> architectures);

// Refuses files that hold no model, and keys that change the dataflow of a decoder in ways that no
// supported architecture has.
Status refuse_gguf_knobs(const MetadataReader& metadata);

// block_count counts layers that draft tokens (nextn_predict_layers), which follow the others.
struct GgufBlocks {
  std::uint32_t blocks = 0;
  std::uint32_t layers = 0;  // without those that draft
};
Result<GgufBlocks> gguf_blocks(const MetadataReader& metadata);
// For begins_with_any: "blk.78.".
std::vector<std::string> gguf_draft_prefixes(GgufBlocks blocks);

}  // namespace zllm::weight
