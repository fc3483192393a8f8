#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <zllm/attention/delta_rule/spec.h>
#include <zllm/base/result.h>
#include <zllm/weight/assembly/block_weights.h>
#include <zllm/weight/assembly/config_reader.h>
#include <zllm/weight/assembly/weight_binder.h>

// Kimi delta attention of every family that has it (Kimi Linear, arXiv:2510.26692).
namespace zllm::weight {

// What a family's configuration means where it says nothing.
struct DeltaKeys {
  // Of the bounded decay gate; nothing: the family has none.
  std::optional<double> lower_bound = {};
  std::string_view other_type = "full_attention";  // in layer_types, beside linear_attention
  // Where nothing tells, the last of every `period` layers is not linear; 0: an error.
  std::uint32_t period = 0;
  bool has_lists = false;  // linear_attn_config lists the layers, counted from 1
};

// Heads, widths, taps and gate: linear_num_heads, linear_head_dim, linear_conv_kernel_dim and
// linear_lower_bound, or the same facts in linear_attn_config (num_heads, head_dim,
// short_conv_kernel_size, gate_lower_bound or lower_bound, safe_gate). Keys and values have the
// same heads; the low-rank gates have the rank of a head's width.
Result<attention::delta_rule::Spec> delta_from_config(const ConfigReader& config,
                                                      const DeltaKeys& keys);

// Which layers are linear: layer_types, or linear_attn_config.kda_layers and .full_attn_layers,
// which must tell every layer once. Both must agree.
Result<std::vector<bool>> linear_layers_from_config(const ConfigReader& config,
                                                    const DeltaKeys& keys, std::uint32_t layers);

// How a file format spells the tensors of a layer's attention, after the layer's prefix.
struct DeltaNames {
  std::string_view query, key, value;
  std::string_view query_taps, key_taps, value_taps;
  std::string_view decay_down, decay_up, rates, decay_bias;
  std::string_view beta;
  std::string_view gate_down, gate_up, norm, output;
};

constexpr DeltaNames kHubDelta = {
    .query = "self_attn.q_proj.weight",
    .key = "self_attn.k_proj.weight",
    .value = "self_attn.v_proj.weight",
    .query_taps = "self_attn.q_conv1d.weight",
    .key_taps = "self_attn.k_conv1d.weight",
    .value_taps = "self_attn.v_conv1d.weight",
    .decay_down = "self_attn.f_a_proj.weight",
    .decay_up = "self_attn.f_b_proj.weight",
    .rates = "self_attn.A_log",
    .decay_bias = "self_attn.dt_bias",
    .beta = "self_attn.b_proj.weight",
    .gate_down = "self_attn.g_a_proj.weight",
    .gate_up = "self_attn.g_b_proj.weight",
    .norm = "self_attn.o_norm.weight",
    .output = "self_attn.o_proj.weight",
};

constexpr DeltaNames kGgufDelta = {
    .query = "attn_q.weight",
    .key = "attn_k.weight",
    .value = "attn_v.weight",
    .query_taps = "ssm_conv1d_q.weight",
    .key_taps = "ssm_conv1d_k.weight",
    .value_taps = "ssm_conv1d_v.weight",
    .decay_down = "ssm_f_a.weight",
    .decay_up = "ssm_f_b.weight",
    .rates = "ssm_a",
    .decay_bias = "ssm_dt.bias",
    .beta = "ssm_beta.weight",
    .gate_down = "ssm_g_a.weight",
    .gate_up = "ssm_g_b.weight",
    .norm = "ssm_norm.weight",
    .output = "attn_output.weight",
};

struct DeltaWidths {
  std::uint32_t hidden = 0;
  std::uint32_t gate_rank = 0;
};

// Binds the attention of one layer; `prefix` is all that comes before a name.
DeltaAttentionWeights bind_delta_attention(WeightBinder& binder, std::string_view prefix,
                                           const DeltaNames& names,
                                           const attention::delta_rule::Spec& spec,
                                           DeltaWidths widths);

}  // namespace zllm::weight
