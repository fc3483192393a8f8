#pragma once

#include <cstdint>
#include <string_view>

#include <zllm/base/result.h>
#include <zllm/model_spec/latent_attention.h>
#include <zllm/weight/assembly/block_weights.h>
#include <zllm/weight/assembly/config_reader.h>
#include <zllm/weight/assembly/metadata_reader.h>
#include <zllm/weight/assembly/weight_binder.h>

// Multi-head latent attention of every family that has it (DeepSeek-V2, arXiv:2405.04434).
namespace zllm::weight {

// From q_lora_rank (null: one full matrix), kv_lora_rank, qk_nope_head_dim, qk_rope_head_dim,
// v_head_dim, num_attention_heads and attention_bias. The scale is (nope + rope)^-0.5 times the
// factor. The epsilon is 1e-6, as transformers builds these norms whatever rms_norm_eps says; a
// family that is different sets it.
Result<model_spec::LatentAttention> latent_attention_from_config(const ConfigReader& config,
                                                                 double score_factor);

// The same from <arch>.attention.* and <arch>.rope.dimension_count of GGUF metadata. Widths of
// heads are key_length_mla and value_length_mla, which older files call key_length and
// value_length. No biases.
Result<model_spec::LatentAttention> latent_attention_from_metadata(const MetadataReader& metadata,
                                                                   std::uint64_t layers,
                                                                   double score_factor);

// How a file format spells the tensors of a layer's attention, after the layer's prefix.
struct LatentAttentionNames {
  std::string_view query;  // one full matrix
  std::string_view query_down, query_down_bias, query_norm, query_up;
  std::string_view latent, latent_bias;  // rows of the shared key below those of the latent
  std::string_view latent_norm;
  std::string_view up_fused;            // [heads * (nope + value), latent]
  std::string_view up_keys, up_values;  // [heads, latent, nope], [heads, value, latent]; "" = never
  std::string_view output, output_bias;
};

constexpr LatentAttentionNames kHubLatentAttention = {
    .query = "self_attn.q_proj.weight",
    .query_down = "self_attn.q_a_proj.weight",
    .query_down_bias = "self_attn.q_a_proj.bias",
    .query_norm = "self_attn.q_a_layernorm.weight",
    .query_up = "self_attn.q_b_proj.weight",
    .latent = "self_attn.kv_a_proj_with_mqa.weight",
    .latent_bias = "self_attn.kv_a_proj_with_mqa.bias",
    .latent_norm = "self_attn.kv_a_layernorm.weight",
    .up_fused = "self_attn.kv_b_proj.weight",
    .up_keys = "",
    .up_values = "",
    .output = "self_attn.o_proj.weight",
    .output_bias = "self_attn.o_proj.bias",
};

constexpr LatentAttentionNames kGgufLatentAttention = {
    .query = "attn_q.weight",
    .query_down = "attn_q_a.weight",
    .query_down_bias = "attn_q_a.bias",
    .query_norm = "attn_q_a_norm.weight",
    .query_up = "attn_q_b.weight",
    .latent = "attn_kv_a_mqa.weight",
    .latent_bias = "attn_kv_a_mqa.bias",
    .latent_norm = "attn_kv_a_norm.weight",
    .up_fused = "attn_kv_b.weight",
    .up_keys = "attn_k_b.weight",
    .up_values = "attn_v_b.weight",
    .output = "attn_output.weight",
    .output_bias = "attn_output.bias",
};

// Binds the attention of one layer; `prefix` is all that comes before a name, "model.layers.3." or
// "blk.3.". Latent and shared key are rows of one tensor. Of both forms of the lifting matrices the
// split one counts.
LatentAttentionWeights bind_latent_attention(WeightBinder& binder, std::string_view prefix,
                                             const LatentAttentionNames& names,
                                             const model_spec::LatentAttention& spec,
                                             std::uint32_t hidden);

}  // namespace zllm::weight
