#pragma once

#include <array>
#include <string_view>

#include <zllm/weight/assembly/ends.h>
#include <zllm/weight/assembly/gqa_attention.h>

namespace zllm::weight {

// How one file format spells the tensors of a layer, without ".weight" or ".bias".
struct DenseDecoderNames {
  std::string_view attention_norm;
  GqaNames attention;
  std::string_view mlp_norm, gate, up, down;
};

constexpr DenseDecoderNames kHubNames = {.attention_norm = "input_layernorm",
                                         .attention = kHubGqa,
                                         .mlp_norm = "post_attention_layernorm",
                                         .gate = "mlp.gate_proj",
                                         .up = "mlp.up_proj",
                                         .down = "mlp.down_proj"};
constexpr HubPrefix kHubPrefix = {"model.", "lm_head.weight"};
constexpr HubPrefix kBareHubPrefix = {"", "lm_head.weight"};  // of some checkpoints

constexpr DenseDecoderNames kGgufNames = {.attention_norm = "attn_norm",
                                          .attention = kGgufGqa,
                                          .mlp_norm = "ffn_norm",
                                          .gate = "ffn_gate",
                                          .up = "ffn_up",
                                          .down = "ffn_down"};

// Buffers that older checkpoints carry though they follow from the configuration, and tensors that
// the spec already took in.
constexpr std::array<std::string_view, 4> kIgnoredHubEndings = {
    ".rotary_emb.inv_freq", ".attention.masked_bias", ".attention.bias", ".self_attn.bias"};
constexpr std::array<std::string_view, 4> kIgnoredGgufEndings = {
    "rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight",
    ".attn_rot_embd.weight"};

}  // namespace zllm::weight
