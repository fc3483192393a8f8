#pragma once

namespace zllm::norm {

// Formulas: reference.h. `cast` is a rounding to the storage type (f32 in the reference).
enum class Flavour {
  rms,                // w * cast(rms(x)): Llama, Mistral, Qwen2, Qwen3
  rms_plus_one,       // cast(rms(x) * (1 + w)): Gemma 1-3, Qwen3-Next
  rms_unweighted,     // cast(rms(x))
  layer,              // w * (x - mean) / sqrt(variance + epsilon) + b
  gated_rms_silu,     // w * cast(rms(x)) * silu(z): gated delta nets
  gated_rms_sigmoid,  // w * cast(rms(x)) * sigmoid(z): Kimi delta attention
  l2,                 // x / sqrt(sum(x^2) + epsilon): a sum, not a mean
};

struct Spec {
  Flavour flavour = Flavour::rms;
  double epsilon = 1e-6;  // added to the mean (rms), variance (layer) or sum (l2) of squares

  bool operator==(const Spec&) const = default;
};

constexpr bool has_weight(Flavour flavour) {
  return flavour != Flavour::rms_unweighted && flavour != Flavour::l2;
}
constexpr bool has_bias(Flavour flavour) { return flavour == Flavour::layer; }
constexpr bool has_gate(Flavour flavour) {
  return flavour == Flavour::gated_rms_silu || flavour == Flavour::gated_rms_sigmoid;
}

}  // namespace zllm::norm
