#pragma once

#include <array>
#include <string_view>

namespace zllm::weight {

// How one file format spells the dense family's tensors: an outer name is complete, a layer's is
// "<prefix><layer><number>.<stem>.weight" or ".bias".
struct DenseDecoderNames {
  std::string_view embedding;
  std::string_view final_norm;
  std::string_view head;  // without the prefix
  std::string_view layer;
  std::string_view attention_norm, query, key, value, output, query_norm, key_norm;
  std::string_view mlp_norm, gate, up, down;
};

constexpr DenseDecoderNames kHubNames = {
    .embedding = "embed_tokens.weight",
    .final_norm = "norm.weight",
    .head = "lm_head.weight",
    .layer = "layers.",
    .attention_norm = "input_layernorm",
    .query = "self_attn.q_proj",
    .key = "self_attn.k_proj",
    .value = "self_attn.v_proj",
    .output = "self_attn.o_proj",
    .query_norm = "self_attn.q_norm",
    .key_norm = "self_attn.k_norm",
    .mlp_norm = "post_attention_layernorm",
    .gate = "mlp.gate_proj",
    .up = "mlp.up_proj",
    .down = "mlp.down_proj",
};
constexpr std::string_view kHubPrefix = "model.";  // some checkpoints leave it out

constexpr DenseDecoderNames kGgufNames = {
    .embedding = "token_embd.weight",
    .final_norm = "output_norm.weight",
    .head = "output.weight",
    .layer = "blk.",
    .attention_norm = "attn_norm",
    .query = "attn_q",
    .key = "attn_k",
    .value = "attn_v",
    .output = "attn_output",
    .query_norm = "attn_q_norm",
    .key_norm = "attn_k_norm",
    .mlp_norm = "ffn_norm",
    .gate = "ffn_gate",
    .up = "ffn_up",
    .down = "ffn_down",
};

// Buffers that older checkpoints carry though they follow from the configuration, and tensors that
// the spec already took in.
constexpr std::array<std::string_view, 4> kIgnoredHubEndings = {
    ".rotary_emb.inv_freq", ".attention.masked_bias", ".attention.bias", ".self_attn.bias"};
constexpr std::array<std::string_view, 4> kIgnoredGgufEndings = {
    "rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight",
    ".attn_rot_embd.weight"};

}  // namespace zllm::weight
