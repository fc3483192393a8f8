#pragma once

#include <cstddef>
#include <cstdint>

namespace zllm::kernel::cpu {

enum class DecayGate : std::uint8_t {
  softplus,  // -rate * softplus(f + bias)
  bounded,   // lower_bound * sigmoid(rate * (f + bias))
};

// A layer of the gated delta rule; channels are those of all queries, all keys, all values.
struct DeltaRuleShape {
  std::size_t key_heads = 0;
  std::size_t value_heads = 0;  // a multiple of key_heads
  std::size_t key_width = 0;
  std::size_t value_width = 0;
  std::size_t taps = 1;
  bool decay_per_channel = true;  // or one for the head
  DecayGate gate = DecayGate::softplus;
  float lower_bound = 0.0F;
  bool rates_are_logarithms = true;  // rate = exp(value), else -value
};

constexpr std::size_t keys_of(const DeltaRuleShape& shape) {
  return shape.key_heads * shape.key_width;
}
constexpr std::size_t values_of(const DeltaRuleShape& shape) {
  return shape.value_heads * shape.value_width;
}
constexpr std::size_t channels_of(const DeltaRuleShape& shape) {
  return 2 * keys_of(shape) + values_of(shape);
}
constexpr std::size_t decays_of(const DeltaRuleShape& shape) {
  return shape.value_heads * (shape.decay_per_channel ? shape.key_width : 1);
}

// What one row does to the state of all heads, with no need of a weight:
// M <- diag(decay) M + key update^T for each value head, and its inputs enter the tail.
struct DeltaRuleJournal {
  std::size_t keys = 0;     // [key_heads, key_width]; the inputs [channels] come before
  std::size_t updates = 0;  // [value_heads, value_width]: beta * (value - M^T key)
  std::size_t decays = 0;   // [decays]: factors
  std::size_t width = 0;
};
DeltaRuleJournal journal_of(const DeltaRuleShape& shape);

// tail [taps - 1, channels], matrices [value_heads, key_width, value_width].
struct DeltaRuleSource {
  const float *tail = nullptr;
  const float *matrices = nullptr;  // null: both are zeros
};
struct DeltaRuleTarget {
  float *tail = nullptr;
  float *matrices = nullptr;
};

// The rows of one segment. The source is only read; the two must not overlap.
struct DeltaRuleParams {
  DeltaRuleShape shape;
  std::size_t rows = 0;          // at least 1
  const float *mixed = nullptr;  // [rows][mixed_stride]: the channels
  const float *decay = nullptr;  // [rows][decay_stride]
  const float *beta = nullptr;   // [rows][beta_stride]
  float *output = nullptr;       // [rows][output_stride]: value_heads * value_width
  std::size_t mixed_stride = 0;
  std::size_t decay_stride = 0;
  std::size_t beta_stride = 0;
  std::size_t output_stride = 0;
  const float *query_taps = nullptr;  // [channels of the part, taps]
  const float *key_taps = nullptr;
  const float *value_taps = nullptr;
  const float *rates = nullptr;       // [value_heads]
  const float *decay_bias = nullptr;  // [decays]
  DeltaRuleSource from;
  DeltaRuleTarget to;
  float *journal = nullptr;  // [rows][journal width], or null
};

// The first `rows` rows of a journal again.
struct DeltaRuleReplay {
  DeltaRuleShape shape;
  std::size_t rows = 0;  // at most kDeltaRuleRows; 0: a copy
  const float *journal = nullptr;
  DeltaRuleSource from;
  DeltaRuleTarget to;
};

// Rows whose keys, queries, values and decays are made ready before the state passes over them.
constexpr std::size_t kDeltaRuleRows = 32;

// Floats of scratch memory that a call takes, at any instruction set.
std::size_t delta_rule_scratch(const DeltaRuleShape& shape);

// One value head of one segment: its part of the output, the state and the journal. Calls for
// different heads touch different memory. Row by row: bits do not depend on how rows were cut into
// segments, and a replay gives those of a segment of fewer rows.
struct DeltaRuleKernels {
  void (*delta_rule)(const DeltaRuleParams& params, std::size_t head, float *scratch);
  void (*replay)(const DeltaRuleReplay& params, std::size_t head, float *scratch);
};

}  // namespace zllm::kernel::cpu
