#pragma once

namespace zllm::activation {

// How the gate and up projections of a feed-forward block join. Formulas: reference.h.
enum class Gate {
  swiglu,          // Llama, Mistral, Qwen, DeepSeek-V3
  clamped_swiglu,  // limit
  swiglu_oai,      // limit, alpha: gpt-oss, MiniMax-M3
  geglu_tanh,      // Gemma
  situ,            // beta, linear_beta: Kimi K3
};

struct Spec {
  Gate gate = Gate::swiglu;
  double limit = 0.0;        // clamped_swiglu, swiglu_oai: above 0
  double alpha = 1.702;      // swiglu_oai
  double beta = 4.0;         // situ
  double linear_beta = 0.0;  // situ: 0 or less leaves the up branch alone

  bool operator==(const Spec&) const = default;
};

}  // namespace zllm::activation
