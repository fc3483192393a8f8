#pragma once

#include <cstdint>

namespace zllm::attention::delta_rule {

// How the raw decay input f of a channel or head becomes the logarithm of its decay.
enum class DecayGate {
  softplus,  // -rate * softplus(f + bias)
  bounded,   // lower_bound * sigmoid(rate * (f + bias)); the bound multiplies, it clamps nothing
};

// One decay for each key channel (Kimi delta attention) or one for the head (gated delta nets).
enum class DecayWidth { channel, head };

// A layer of the gated delta rule with its short convolution. Formulas: reference.h.
struct Spec {
  std::uint32_t key_heads = 0;
  std::uint32_t value_heads =
      0;  // a multiple of key_heads; state, decay and beta are per value head
  std::uint32_t key_width = 0;
  std::uint32_t value_width = 0;
  std::uint32_t taps = 0;  // of the convolution, at least 1
  DecayWidth decay_width = DecayWidth::channel;
  DecayGate decay_gate = DecayGate::softplus;
  float lower_bound = 0.0f;  // bounded: below 0
  // How a file gives the rates: as logarithms (rate = exp(value)), or negated (rate = -value).
  bool rates_are_logarithms = true;

  bool operator==(const Spec&) const = default;
};

// Channels of the convolution: all queries, then all keys, then all values.
constexpr std::uint64_t channels(const Spec& spec) {
  return 2 * std::uint64_t{spec.key_heads} * spec.key_width +
         std::uint64_t{spec.value_heads} * spec.value_width;
}
// Decay values of a row.
constexpr std::uint64_t decays(const Spec& spec) {
  return std::uint64_t{spec.value_heads} *
         (spec.decay_width == DecayWidth::channel ? spec.key_width : 1);
}
// Elements of the recurrent state: [value_heads, key_width, value_width].
constexpr std::uint64_t state_elements(const Spec& spec) {
  return std::uint64_t{spec.value_heads} * spec.key_width * spec.value_width;
}
// Elements of the convolution's tail: the last taps - 1 inputs, oldest first.
constexpr std::uint64_t tail_elements(const Spec& spec) { return (spec.taps - 1) * channels(spec); }

}  // namespace zllm::attention::delta_rule
