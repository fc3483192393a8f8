#pragma once

#include <cstdint>
#include <string_view>

#include <zllm/weight/assembly/block_weights.h>
#include <zllm/weight/assembly/weight_binder.h>

namespace zllm::weight {

// How a file format spells the tensors of grouped-query attention, without ".weight" or ".bias".
struct GqaNames {
  std::string_view query, key, value, output, query_norm, key_norm;
};

constexpr GqaNames kHubGqa = {
    .query = "self_attn.q_proj",
    .key = "self_attn.k_proj",
    .value = "self_attn.v_proj",
    .output = "self_attn.o_proj",
    .query_norm = "self_attn.q_norm",
    .key_norm = "self_attn.k_norm",
};
constexpr GqaNames kGgufGqa = {
    .query = "attn_q",
    .key = "attn_k",
    .value = "attn_v",
    .output = "attn_output",
    .query_norm = "attn_q_norm",
    .key_norm = "attn_k_norm",
};

struct GqaShape {
  std::uint64_t hidden = 0;
  std::uint64_t query_heads = 0;
  std::uint64_t kv_heads = 0;
  std::uint64_t head = 0;
  bool query_key_norm = false;
  bool qkv_bias = false;
  bool output_bias = false;
};

// `prefix` is a layer's: "model.layers.3." or "blk.3.".
GqaWeights bind_gqa(WeightBinder& binder, std::string_view prefix, const GqaNames& names,
                    const GqaShape& shape);

}  // namespace zllm::weight
