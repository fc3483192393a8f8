#include <zllm/attention/delta_rule/gated_rows.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include <zllm/attention/delta_rule/short_convolution.h>
#include <zllm/base/text.h>

namespace zllm::attention::delta_rule {
namespace {

constexpr double kNormEpsilon = 1e-6;  // under the root, beside the sum of squares

// exp of it is 0 in f64. Sums of stronger ones would drown the decays beside them.
constexpr double kStrongestLogDecay = -1000.0;

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

// log(1 + exp(x)) without the exponential of a large x.
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

double log_decay_of(const Spec& spec, double input, double rate, double bias) {
  const double speed = spec.rates_are_logarithms ? std::exp(rate) : -rate;
  const double biased = input + bias;
  const double g = spec.decay_gate == DecayGate::bounded
                       ? static_cast<double>(spec.lower_bound) * sigmoid(speed * biased)
                       : -speed * softplus(biased);
  return std::max(g, kStrongestLogDecay);
}

void to_unit_length(std::span<double> lanes, double scale) {
  double squares = 0.0;
  for (const double lane : lanes) {
    squares += lane * lane;
  }
  const double factor = scale / std::sqrt(squares + kNormEpsilon);
  for (double& lane : lanes) {
    lane *= factor;
  }
}

Status finite(std::string_view operand, std::span<const float> values, std::size_t width) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      return Error{Code::invalid_argument,
                   concat("delta rule ", operand, ": row ", i / width, ", element ", i % width,
                          std::isnan(values[i]) ? " is NaN" : " is infinite")};
    }
  }
  return {};
}

Status check_rates(const Spec& spec, std::span<const float> rates) {
  ZLLM_TRY(finite("rates", rates, rates.size()));
  for (std::size_t head = 0; head < rates.size(); ++head) {
    const double rate = static_cast<double>(rates[head]);
    if (spec.rates_are_logarithms ? !std::isfinite(std::exp(rate)) : rate > 0.0) {
      return Error{Code::invalid_argument,
                   concat("delta rule rates: row 0, element ", head,
                          spec.rates_are_logarithms ? " has an infinite exponential"
                                                    : " is negated and above 0")};
    }
  }
  return {};
}

void check_sizes(const Spec& spec, const Weights& weights, const Inputs& inputs,
                 const State& state) {
  const std::size_t rows = inputs.mixed.size() / channels(spec);
  ZLLM_CHECK(weights.taps.size() == channels(spec) * spec.taps, "delta rule: taps");
  ZLLM_CHECK(weights.rates.size() == spec.value_heads, "delta rule: rates");
  ZLLM_CHECK(weights.decay_bias.size() == decays(spec), "delta rule: decay bias");
  ZLLM_CHECK(inputs.mixed.size() == rows * channels(spec), "delta rule: mixed");
  ZLLM_CHECK(inputs.decay.size() == rows * decays(spec), "delta rule: decay");
  ZLLM_CHECK(inputs.beta.size() == rows * spec.value_heads, "delta rule: beta");
  ZLLM_CHECK(state.tail.size() == tail_elements(spec), "delta rule: the state's tail");
  ZLLM_CHECK(state.matrices.size() == state_elements(spec), "delta rule: the state's matrices");
}

Status check_operands(const Spec& spec, const Weights& weights, const Inputs& inputs,
                      const State& state) {
  ZLLM_TRY(finite("taps", weights.taps, spec.taps));
  ZLLM_TRY(check_rates(spec, weights.rates));
  ZLLM_TRY(finite("decay bias", weights.decay_bias, weights.decay_bias.size()));
  ZLLM_TRY(finite("mixed", inputs.mixed, channels(spec)));
  ZLLM_TRY(finite("decay", inputs.decay, decays(spec)));
  ZLLM_TRY(finite("beta", inputs.beta, spec.value_heads));
  ZLLM_TRY(finite("state tail", state.tail, channels(spec)));
  return finite("state matrices", state.matrices, spec.value_width);
}

}  // namespace

double decay_factor(const Spec& spec, double input, double rate, double bias) {
  return std::exp(log_decay_of(spec, input, rate, bias));
}

Result<GatedRows> GatedRows::make(const Spec& spec, const Weights& weights, const Inputs& inputs,
                                  State& state) {
  ZLLM_TRY(validate(spec));
  check_sizes(spec, weights, inputs, state);
  ZLLM_TRY(check_operands(spec, weights, inputs, state));
  GatedRows result(spec);
  result.rows_ = inputs.mixed.size() / channels(spec);
  result.mixed_ = convolve(spec, weights.taps, inputs.mixed, state.tail);
  result.normalise();
  result.gate(weights, inputs);
  return result;
}

void GatedRows::normalise() {
  const double scale = 1.0 / std::sqrt(static_cast<double>(spec_.key_width));
  const std::span<double> mixed(mixed_);
  for (std::size_t row = 0; row < rows_; ++row) {
    for (std::size_t head = 0; head < 2 * std::size_t{spec_.key_heads}; ++head) {
      to_unit_length(mixed.subspan(row * channels(spec_) + head * spec_.key_width, spec_.key_width),
                     head < spec_.key_heads ? scale : 1.0);
    }
  }
}

void GatedRows::gate(const Weights& weights, const Inputs& inputs) {
  const std::size_t width = decays(spec_);
  log_decays_.resize(inputs.decay.size());
  for (std::size_t i = 0; i < log_decays_.size(); ++i) {
    const std::size_t element = i % width;
    const std::size_t head = element / (width / spec_.value_heads);
    log_decays_[i] = log_decay_of(spec_, static_cast<double>(inputs.decay[i]),
                                  static_cast<double>(weights.rates[head]),
                                  static_cast<double>(weights.decay_bias[element]));
  }
  betas_.resize(inputs.beta.size());
  for (std::size_t i = 0; i < betas_.size(); ++i) {
    betas_[i] = sigmoid(static_cast<double>(inputs.beta[i]));
  }
}

std::span<const double> GatedRows::query(std::size_t row, std::size_t value_head) const {
  const std::size_t head = value_head / (spec_.value_heads / spec_.key_heads);
  return std::span(mixed_).subspan(row * channels(spec_) + head * spec_.key_width, spec_.key_width);
}

std::span<const double> GatedRows::key(std::size_t row, std::size_t value_head) const {
  const std::size_t head = spec_.key_heads + value_head / (spec_.value_heads / spec_.key_heads);
  return std::span(mixed_).subspan(row * channels(spec_) + head * spec_.key_width, spec_.key_width);
}

std::span<const double> GatedRows::value(std::size_t row, std::size_t value_head) const {
  const std::size_t values = 2 * std::size_t{spec_.key_heads} * spec_.key_width;
  return std::span(mixed_).subspan(row * channels(spec_) + values + value_head * spec_.value_width,
                                   spec_.value_width);
}

double GatedRows::log_decay(std::size_t row, std::size_t value_head, std::size_t channel) const {
  const std::size_t base = row * decays(spec_);
  return spec_.decay_width == DecayWidth::head
             ? log_decays_[base + value_head]
             : log_decays_[base + value_head * spec_.key_width + channel];
}

double GatedRows::beta(std::size_t row, std::size_t value_head) const {
  return betas_[row * spec_.value_heads + value_head];
}

}  // namespace zllm::attention::delta_rule
