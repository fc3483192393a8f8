#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <zllm/attention/sparse/spec.h>
#include <zllm/base/result.h>
#include <zllm/model_spec/mla_moe.h>
#include <zllm/weight/assembly/block_weights.h>
#include <zllm/weight/assembly/config_reader.h>
#include <zllm/weight/assembly/metadata_reader.h>
#include <zllm/weight/assembly/weight_binder.h>

// The indexer of sparse latent attention: attention/sparse/indexer.h.
namespace zllm::weight {

// Where an indexer is turned by rope, its first `rotated` lanes are.
// From index_n_heads, index_head_dim and index_topk.
Result<attention::sparse::IndexerSpec> indexer_from_config(const ConfigReader& config,
                                                           std::uint32_t rotated);
// The same from <arch>.attention.indexer.*.
Result<attention::sparse::IndexerSpec> indexer_from_metadata(const MetadataReader& metadata,
                                                             std::uint32_t rotated);

// Full or shared, for every layer: indexer_types, else index_topk_pattern, else the schedule of
// index_topk_freq and index_skip_topk_offset, by which layer i is full where
// max(i - offset + 1, 0) is a multiple of freq (defaults 1 and 2: all are full). The types must
// agree with a pattern or schedule beside them, and the first layer must be full.
Result<std::vector<model_spec::IndexerKind>> indexer_kinds_from_config(const ConfigReader& config,
                                                                       std::uint32_t layers);

// What the schedule says.
std::vector<model_spec::IndexerKind> scheduled_indexers(std::uint32_t layers, std::uint64_t every,
                                                        std::uint64_t offset);

// How a file format spells an indexer's tensors, after the layer's prefix.
struct IndexerNames {
  std::string_view query, key, key_norm, key_norm_bias, weights;
  std::string_view gates, position_bias;  // of pooled keys alone
};

constexpr IndexerNames kHubIndexer = {
    .query = "self_attn.indexer.wq_b.weight",
    .key = "self_attn.indexer.wk.weight",
    .key_norm = "self_attn.indexer.k_norm.weight",
    .key_norm_bias = "self_attn.indexer.k_norm.bias",
    .weights = "self_attn.indexer.weights_proj.weight",
    .gates = "self_attn.indexer.index_kpool_compress_gate",
    .position_bias = "self_attn.indexer.index_kpool_compress_ape",
};

constexpr IndexerNames kGgufIndexer = {
    .query = "indexer.attn_q_b.weight",
    .key = "indexer.attn_k.weight",
    .key_norm = "indexer.k_norm.weight",
    .key_norm_bias = "indexer.k_norm.bias",
    .weights = "indexer.proj.weight",
    .gates = "indexer_compressor_gate.weight",
    .position_bias = "indexer_compressor_ape.weight",
};

// The widths on both sides of an indexer; `pool` is 0 where keys are not pooled.
struct IndexerWidths {
  std::uint32_t hidden = 0;
  std::uint32_t query_rank = 0;
  std::uint32_t pool = 0;
};

// Binds the indexer of one layer; `prefix` is all that comes before a name.
IndexerWeights bind_indexer(WeightBinder& binder, std::string_view prefix,
                            const IndexerNames& names, const attention::sparse::IndexerSpec& spec,
                            IndexerWidths widths);

}  // namespace zllm::weight
