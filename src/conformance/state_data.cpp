#include <zllm/conformance/state_data.h>

#include <cmath>

#include <zllm/attention/delta_rule/reference.h>
#include <zllm/residual/hyper_connection.h>

namespace zllm::conformance {

namespace delta_rule = attention::delta_rule;

Result<DeltaRuleData> delta_rule_data(const Case& one, const DeltaRuleCase& delta) {
  Source source(one.seed);
  const delta_rule::Spec& spec = delta.spec;
  DeltaRuleData data{.sequences = Sequences(delta.segments),
                     .taps = source.values(delta_rule::channels(spec) * spec.taps),
                     .rates = source.values(spec.value_heads),
                     .decay_bias = source.values(delta_rule::decays(spec)),
                     .mixed = {},
                     .decay = {},
                     .beta = {},
                     .expected = {}};
  for (float& rate : data.rates) {
    rate = spec.rates_are_logarithms ? rate : -std::exp(rate);
  }
  const std::size_t tokens = data.sequences.tokens();
  data.mixed = source.values(tokens * delta_rule::channels(spec));
  data.decay = source.values(tokens * delta_rule::decays(spec));
  data.beta = source.values(tokens * spec.value_heads);
  const std::size_t width = std::size_t{spec.value_heads} * spec.value_width;
  for (const RoundPart& part : data.sequences.measured()) {
    delta_rule::State state = delta_rule::initial_state(spec);
    const std::size_t sequence = part.sequence;
    std::vector<float> output(data.sequences.tokens(sequence) * width);
    ZLLM_TRY(delta_rule::recurrent(
        spec, {.taps = data.taps, .rates = data.rates, .decay_bias = data.decay_bias},
        {.mixed = data.sequences.of(data.mixed, sequence),
         .decay = data.sequences.of(data.decay, sequence),
         .beta = data.sequences.of(data.beta, sequence)},
        state, output));
    data.expected.insert(data.expected.end(),
                         output.begin() + static_cast<std::ptrdiff_t>(part.position * width),
                         output.end());
  }
  return data;
}

HyperConnectionData hyper_connection_data(const Case& one, const HyperConnectionCase& streams) {
  Source source(one.seed);
  const residual::HyperConnectionSpec& spec = streams.spec;
  const std::size_t count = spec.streams;
  const std::size_t rows = streams.rows;
  const std::size_t width = streams.columns;
  HyperConnectionData data;
  data.mixing =
      random_matrix(source, encoding::Encoding::f32, residual::mix_width(spec), count * width);
  data.base = source.values(residual::mix_width(spec));
  data.scale = source.values(3);
  data.streams = source.values(rows * count * width, 2.0F);
  data.sublayer = source.values(rows * width);
  data.input.resize(rows * width);
  std::vector<float> after(rows * count);
  std::vector<float> combine(rows * count * count);
  residual::split(spec, {.mixing = data.mixing.values, .base = data.base, .scale = data.scale},
                  data.streams, width, data.input, after, combine);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t k = 0; k < count; ++k) {
      data.row_mixing.push_back(after[row * count + k]);
    }
    for (std::size_t k = 0; k < count * count; ++k) {
      data.row_mixing.push_back(combine[row * count * count + k]);
    }
  }
  data.merged = data.streams;
  residual::merge(spec, data.sublayer, after, combine, width, data.merged);
  data.expanded.resize(rows * count * width);
  residual::expand(data.sublayer, width, spec.streams, data.expanded);
  data.collapsed.resize(rows * width);
  residual::collapse(data.streams, width, spec.streams, data.collapsed);
  return data;
}

}  // namespace zllm::conformance
