#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <zllm/base/result.h>
#include <zllm/model_spec/mixture.h>
#include <zllm/moe/spec.h>
#include <zllm/weight/assembly/block_weights.h>
#include <zllm/weight/assembly/config_reader.h>
#include <zllm/weight/assembly/weight_binder.h>

namespace zllm::weight {

enum class SparseLayers {
  after_dense,  // mlp_layer_types, or first_k_dense_replace with moe_layer_freq
  by_step,      // decoder_sparse_step with mlp_only_layers
};

// Which keys tell a family's sparse layers, and what its configuration means where it says nothing.
// All other keys are read for every family, in each of their spellings.
struct MixtureKeys {
  SparseLayers sparse_layers = SparseLayers::after_dense;
  std::uint32_t dense_layers = 0;  // first_k_dense_replace
  moe::Scoring scoring = moe::Scoring::sigmoid;
  bool selection_bias = true;  // topk_method noaux_tc, else greedy
  bool normalise = true;
  double scaling = 1.0;
  std::uint32_t shared_experts = 0;
  // One shared expert of shared_expert_intermediate_size, weighted by a gate.
  bool gated_shared_expert = false;
  // Nothing: blocks are clamped only where the key is stated.
  std::optional<double> swiglu_limit = {};
};

// Reads the feed-forward blocks of `layers` layers. Spellings of one fact that contradict each
// other, unknown names and impossible routing are errors that name the key. mlp_layer_types
// overrules a first_k_dense_replace that is the family's default.
Result<model_spec::Mixture> mixture_from_config(const ConfigReader& config, const MixtureKeys& keys,
                                                std::uint32_t layers);

// What is wrong with a router and its schedule, whichever file format told it; empty when nothing.
std::string mixture_defect(const model_spec::Mixture& mixture);

// How a file format spells a block's tensors, after the block's prefix. Experts lie in matrices of
// their own (two namings) or in stacks, with gate and up apart or joined (gate rows first).
struct MixtureNames {
  std::string_view gate, up, down;  // of a dense block
  std::string_view router, selection_bias;
  std::string_view experts;                              // before an expert's number; "" = never
  std::string_view expert_gate, expert_up, expert_down;  // after the number
  std::string_view other_gate, other_up, other_down;     // the same, named otherwise
  std::string_view stacked_gate, stacked_up;             // [experts, intermediate, hidden]
  std::string_view stacked_gate_up;                      // [experts, 2 * intermediate, hidden]
  std::string_view stacked_down;                         // [experts, hidden, intermediate]
  std::string_view shared_gate, shared_up, shared_down;  // of the shared experts' one block
  std::string_view shared_router;                        // its weight, where the spec has one
};

constexpr MixtureNames kHubMixture = {
    .gate = "gate_proj.weight",
    .up = "up_proj.weight",
    .down = "down_proj.weight",
    .router = "gate.weight",
    .selection_bias = "gate.e_score_correction_bias",
    .experts = "experts.",
    .expert_gate = ".gate_proj.weight",
    .expert_up = ".up_proj.weight",
    .expert_down = ".down_proj.weight",
    .other_gate = ".w1.weight",
    .other_up = ".w3.weight",
    .other_down = ".w2.weight",
    .stacked_gate = "experts.gate_proj",
    .stacked_up = "experts.up_proj",
    .stacked_gate_up = "experts.gate_up_proj",
    .stacked_down = "experts.down_proj",
    .shared_gate = "shared_experts.gate_proj.weight",
    .shared_up = "shared_experts.up_proj.weight",
    .shared_down = "shared_experts.down_proj.weight",
    .shared_router = "shared_expert_gate.weight",
};

// Qwen's checkpoints call the shared expert by another name.
constexpr MixtureNames kHubGatedMixture = [] {
  MixtureNames names = kHubMixture;
  names.shared_gate = "shared_expert.gate_proj.weight";
  names.shared_up = "shared_expert.up_proj.weight";
  names.shared_down = "shared_expert.down_proj.weight";
  return names;
}();

constexpr MixtureNames kGgufMixture = {
    .gate = "ffn_gate.weight",
    .up = "ffn_up.weight",
    .down = "ffn_down.weight",
    .router = "ffn_gate_inp.weight",
    .selection_bias = "exp_probs_b.bias",
    .experts = "",
    .expert_gate = "",
    .expert_up = "",
    .expert_down = "",
    .other_gate = "",
    .other_up = "",
    .other_down = "",
    .stacked_gate = "ffn_gate_exps.weight",
    .stacked_up = "ffn_up_exps.weight",
    .stacked_gate_up = "ffn_gate_up_exps.weight",
    .stacked_down = "ffn_down_exps.weight",
    .shared_gate = "ffn_gate_shexp.weight",
    .shared_up = "ffn_up_shexp.weight",
    .shared_down = "ffn_down_shexp.weight",
    .shared_router = "ffn_gate_inp_shexp.weight",
};

// Binds the block of one layer; `prefix` is all that comes before a name, "model.layers.3.mlp." or
// "blk.3.".
MixtureWeights bind_mixture(WeightBinder& binder, std::string_view prefix,
                            const MixtureNames& names, const model_spec::Mixture& mixture,
                            std::uint32_t hidden, std::uint32_t layer);

}  // namespace zllm::weight
