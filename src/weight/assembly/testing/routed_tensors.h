#pragma once

#include <cstdint>
#include <string>

#include <zllm/base/text.h>

#include "small_model.h"

// Tensors of small models with experts: hidden 32, vocabulary 40, dense blocks of 48, 4 experts of
// 16 with one shared.
namespace zllm::weight::testing {

constexpr std::uint64_t kSmallExperts = 4;

inline void add_ends(TensorList& list, const std::string& body, const std::string& head) {
  list.set(body + "embed_tokens.weight", {40, 32}).set(body + "norm.weight", {32});
  list.set(head, {40, 32});
}

inline void add_norms(TensorList& list, const std::string& layer) {
  list.set(layer + "input_layernorm.weight", {32});
  list.set(layer + "post_attention_layernorm.weight", {32});
}

// "mlp.gate_proj.weight" and its like; or with any other intermediate width.
inline void add_mlp(TensorList& list, const std::string& block, std::uint64_t intermediate) {
  list.set(block + "gate_proj.weight", {intermediate, 32});
  list.set(block + "up_proj.weight", {intermediate, 32});
  list.set(block + "down_proj.weight", {32, intermediate});
}

inline void add_router(TensorList& list, const std::string& block, bool has_bias, bool has_shared) {
  list.set(block + "gate.weight", {kSmallExperts, 32});
  if (has_bias) {
    list.set(block + "gate.e_score_correction_bias", {kSmallExperts});
  }
  if (has_shared) {
    add_mlp(list, block + "shared_experts.", 16);
  }
}

inline void add_experts(TensorList& list, const std::string& block) {
  for (std::uint64_t expert = 0; expert < kSmallExperts; ++expert) {
    add_mlp(list, concat(block, "experts.", expert, "."), 16);
  }
}

// The same under the names of Mixtral and of Kimi.
inline void add_numbered_experts(TensorList& list, const std::string& block) {
  for (std::uint64_t expert = 0; expert < kSmallExperts; ++expert) {
    const std::string prefix = concat(block, "experts.", expert, ".");
    list.set(prefix + "w1.weight", {16, 32}).set(prefix + "w3.weight", {16, 32});
    list.set(prefix + "w2.weight", {32, 16});
  }
}

inline void add_gguf_mlp(TensorList& list, const std::string& layer) {
  list.set(layer + "ffn_gate.weight", {48, 32}).set(layer + "ffn_up.weight", {48, 32});
  list.set(layer + "ffn_down.weight", {32, 48});
}

inline void add_gguf_experts(TensorList& list, const std::string& layer, bool has_bias,
                             bool has_shared) {
  list.set(layer + "ffn_gate_inp.weight", {kSmallExperts, 32});
  list.set(layer + "ffn_gate_exps.weight", {kSmallExperts, 16, 32});
  list.set(layer + "ffn_up_exps.weight", {kSmallExperts, 16, 32});
  list.set(layer + "ffn_down_exps.weight", {kSmallExperts, 32, 16});
  if (has_bias) {
    list.set(layer + "exp_probs_b.bias", {kSmallExperts});
  }
  if (has_shared) {
    list.set(layer + "ffn_gate_shexp.weight", {16, 32})
        .set(layer + "ffn_up_shexp.weight", {16, 32});
    list.set(layer + "ffn_down_shexp.weight", {32, 16});
  }
}

// Delta attention of 2 heads of 8 with 4 taps.
inline void add_delta(TensorList& list, const std::string& attention) {
  for (const std::string part : {"q", "k", "v"}) {
    list.set(attention + part + "_proj.weight", {16, 32});
    list.set(attention + part + "_conv1d.weight", {16, 1, 4});
  }
  for (const std::string gate : {"f", "g"}) {
    list.set(attention + gate + "_a_proj.weight", {8, 32});
    list.set(attention + gate + "_b_proj.weight", {16, 8});
  }
  list.set(attention + "b_proj.weight", {2, 32}).set(attention + "A_log", {1, 1, 2, 1});
  list.set(attention + "dt_bias", {16}).set(attention + "o_norm.weight", {8});
  list.set(attention + "o_proj.weight", {32, 16});
}

}  // namespace zllm::weight::testing
