#include <zllm/weight/assembly/delta_attention.h>

#include <zllm/base/text.h>

namespace zllm::weight {

DeltaAttentionWeights bind_delta_attention(WeightBinder& binder, std::string_view prefix,
                                           const DeltaNames& names,
                                           const attention::delta_rule::Spec& spec,
                                           DeltaWidths widths) {
  const std::uint64_t hidden = widths.hidden;
  const std::uint64_t rank = widths.gate_rank;
  const std::uint64_t keys = std::uint64_t{spec.key_heads} * spec.key_width;
  const std::uint64_t values = std::uint64_t{spec.value_heads} * spec.value_width;
  const std::uint64_t decays = attention::delta_rule::decays(spec);
  const auto matrix = [&](std::string_view name, std::uint64_t rows, std::uint64_t columns) {
    return binder.matrix(concat(prefix, name), rows, columns);
  };
  const auto taps = [&](std::string_view name, std::uint64_t channels) {
    return binder.flat_vector(concat(prefix, name), channels * spec.taps, spec.taps);
  };
  DeltaAttentionWeights weights;
  weights.query = matrix(names.query, keys, hidden);
  weights.key = matrix(names.key, keys, hidden);
  weights.value = matrix(names.value, values, hidden);
  weights.query_taps = taps(names.query_taps, keys);
  weights.key_taps = taps(names.key_taps, keys);
  weights.value_taps = taps(names.value_taps, values);
  weights.decay_down = matrix(names.decay_down, rank, hidden);
  weights.decay_up = matrix(names.decay_up, decays, rank);
  weights.rates = binder.flat_vector(concat(prefix, names.rates), spec.value_heads);
  weights.decay_bias = binder.flat_vector(concat(prefix, names.decay_bias), decays);
  weights.beta = matrix(names.beta, spec.value_heads, hidden);
  weights.gate_down = matrix(names.gate_down, rank, hidden);
  weights.gate_up = matrix(names.gate_up, values, rank);
  weights.norm = binder.vector(concat(prefix, names.norm), spec.value_width);
  weights.output = matrix(names.output, hidden, values);
  return weights;
}

}  // namespace zllm::weight
