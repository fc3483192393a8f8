#pragma once

#include <zllm/backend/capability/delta_rule.h>
#include <zllm/backend/capability/hyper_connection.h>
#include <zllm/conformance/deviation.h>
#include <zllm/conformance/harness-inl.h>
#include <zllm/conformance/state_data.h>

namespace zllm::conformance {

template <class Weight>
struct DeltaRuleParts {
  Weight query_taps, key_taps, value_taps, rates, decay_bias;
};

template <backend::DeltaRuleBackend B>
Result<DeltaRuleParts<typename B::Weight>> load_parts(B& backend,
                                                      const attention::delta_rule::Spec& spec,
                                                      const DeltaRuleData& data) {
  const std::size_t keys = std::size_t{spec.key_heads} * spec.key_width * spec.taps;
  const std::span<const float> taps(data.taps);
  ZLLM_TRY(auto query_taps, vector_of(backend, taps.first(keys)));
  ZLLM_TRY(auto key_taps, vector_of(backend, taps.subspan(keys, keys)));
  ZLLM_TRY(auto value_taps, vector_of(backend, taps.subspan(2 * keys)));
  ZLLM_TRY(auto rates, vector_of(backend, data.rates));
  ZLLM_TRY(auto decay_bias, vector_of(backend, data.decay_bias));
  return DeltaRuleParts<typename B::Weight>{std::move(query_taps), std::move(key_taps),
                                            std::move(value_taps), std::move(rates),
                                            std::move(decay_bias)};
}

template <backend::DeltaRuleBackend B>
Result<Deviation> run(B& backend, const Case& one, const DeltaRuleCase& delta) {
  namespace delta_rule = attention::delta_rule;
  ZLLM_TRY(const DeltaRuleData data, delta_rule_data(one, delta));
  const delta_rule::Spec& spec = delta.spec;
  const std::size_t width = std::size_t{spec.value_heads} * spec.value_width;
  ZLLM_TRY(auto slots,
           backend.slot_cache({.planes = {backend::OpenPoolSpec{.width = 3, .pool = 4}, spec},
                               .slots = slot_capacity(data.sequences)}));
  ZLLM_TRY(const auto parts, load_parts(backend, spec, data));
  std::vector<float> values;
  for (const RoundParts& round : {data.sequences.history(), data.sequences.measured()}) {
    if (round.empty()) {
      continue;
    }
    const auto tensor = [&](const std::vector<float>& all) {
      return tensor_of(backend, data.sequences.of(all, round),
                       all.size() / data.sequences.tokens());
    };
    ZLLM_TRY(const auto mixed, tensor(data.mixed));
    ZLLM_TRY(const auto decay, tensor(data.decay));
    ZLLM_TRY(const auto beta, tensor(data.beta));
    ZLLM_TRY(auto out, empty_tensor(backend, row_count(round), width));
    ZLLM_TRY(backend.delta_rule(slots, backend::SlotPlaneId{1}, spec, slot_segments(round),
                                {.mixed = &mixed, .decay = &decay, .beta = &beta},
                                {.query_taps = &parts.query_taps,
                                 .key_taps = &parts.key_taps,
                                 .value_taps = &parts.value_taps,
                                 .rates = &parts.rates,
                                 .decay_bias = &parts.decay_bias},
                                out));
    ZLLM_TRY(values, values_of(backend, out, row_count(round) * width));
  }
  return compare(values, data.expected);
}

template <backend::HyperConnectionBackend B>
Result<Deviation> run(B& backend, const Case& one, const HyperConnectionCase& streams) {
  const HyperConnectionData data = hyper_connection_data(one, streams);
  const residual::HyperConnectionSpec& spec = streams.spec;
  const std::size_t wide = std::size_t{spec.streams} * streams.columns;
  ZLLM_TRY(const auto mixing, backend.load_matrix(data.mixing.view(), {.as_product = true}));
  ZLLM_TRY(const auto base, vector_of(backend, data.base));
  ZLLM_TRY(const auto scale, vector_of(backend, data.scale));
  ZLLM_TRY(auto rows, tensor_of(backend, data.streams, wide));
  ZLLM_TRY(const auto sublayer, tensor_of(backend, data.sublayer, streams.columns));
  ZLLM_TRY(auto input, empty_tensor(backend, streams.rows, streams.columns));
  ZLLM_TRY(auto row_mixing,
           empty_tensor(backend, streams.rows, residual::mix_width(spec) - spec.streams));
  ZLLM_TRY(auto expanded, empty_tensor(backend, streams.rows, wide));
  ZLLM_TRY(auto collapsed, empty_tensor(backend, streams.rows, streams.columns));
  ZLLM_TRY(backend.split_streams(spec, {.mixing = &mixing, .base = &base, .scale = &scale}, rows,
                                 input, row_mixing));
  ZLLM_TRY(backend.collapse_streams(rows, collapsed));
  ZLLM_TRY(backend.merge_streams(spec, sublayer, row_mixing, rows));
  ZLLM_TRY(backend.expand_streams(sublayer, expanded));
  Deviation worst;
  const auto check = [&](const typename B::Tensor& tensor,
                         std::span<const float> expected) -> Status {
    ZLLM_TRY(const auto values, values_of(backend, tensor, expected.size()));
    ZLLM_TRY(const Deviation deviation, compare(values, expected));
    worst.include(deviation);
    return {};
  };
  ZLLM_TRY(check(input, data.input));
  ZLLM_TRY(check(row_mixing, data.row_mixing));
  ZLLM_TRY(check(rows, data.merged));
  ZLLM_TRY(check(expanded, data.expanded));
  ZLLM_TRY(check(collapsed, data.collapsed));
  return worst;
}

}  // namespace zllm::conformance
