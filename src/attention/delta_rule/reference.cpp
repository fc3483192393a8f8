#include <zllm/attention/delta_rule/reference.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include <zllm/attention/delta_rule/gated_rows.h>
#include <zllm/base/checked.h>
#include <zllm/base/text.h>

namespace zllm::attention::delta_rule {
namespace {

Error refused(std::string_view field, std::string_view reason) {
  return {Code::invalid_argument, concat("delta rule ", field, ": ", reason)};
}

bool product_fits(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  const auto first = checked_multiply(a, b);
  return first.has_value() && checked_multiply(*first, c).has_value();
}

// One row of one value head. The matrix is rounded once, after the row.
void step(const GatedRows& rows, std::size_t row, std::size_t head, std::span<float> matrix,
          std::span<float> output) {
  const auto query = rows.query(row, head);
  const auto key = rows.key(row, head);
  const auto value = rows.value(row, head);
  const std::size_t width = value.size();
  std::vector<double> decayed(matrix.size());
  std::vector<double> error(value.begin(), value.end());
  for (std::size_t channel = 0; channel < key.size(); ++channel) {
    const double factor = std::exp(rows.log_decay(row, head, channel));
    for (std::size_t lane = 0; lane < width; ++lane) {
      const std::size_t at = channel * width + lane;
      decayed[at] = factor * static_cast<double>(matrix[at]);
      error[lane] -= key[channel] * decayed[at];
    }
  }
  const double beta = rows.beta(row, head);
  std::vector<double> read(width, 0.0);
  for (std::size_t channel = 0; channel < key.size(); ++channel) {
    for (std::size_t lane = 0; lane < width; ++lane) {
      const std::size_t at = channel * width + lane;
      const double updated = decayed[at] + key[channel] * (beta * error[lane]);
      read[lane] += query[channel] * updated;
      matrix[at] = static_cast<float>(updated);
    }
  }
  for (std::size_t lane = 0; lane < width; ++lane) {
    output[lane] = static_cast<float>(read[lane]);
  }
}

}  // namespace

Status validate(const Spec& spec) {
  if (spec.key_heads == 0 || spec.value_heads == 0 || spec.value_heads % spec.key_heads != 0) {
    return refused("heads", concat(spec.value_heads, " value heads are no multiple of ",
                                   spec.key_heads, " key heads"));
  }
  if (spec.key_width == 0) {
    return refused("key_width", "must be above 0");
  }
  if (spec.value_width == 0) {
    return refused("value_width", "must be above 0");
  }
  if (spec.taps == 0) {
    return refused("taps", "must be above 0");
  }
  if (!product_fits(spec.value_heads, spec.key_width, spec.value_width)) {
    return refused("heads", "a state of this size does not fit 64 bits");
  }
  // Key heads are no more than value heads, so this is no less than channels * taps.
  if (!product_fits(std::uint64_t{spec.value_heads} * 4, spec.taps,
                    std::max(spec.key_width, spec.value_width))) {
    return refused("taps", "a convolution of this size does not fit 64 bits");
  }
  if (spec.decay_gate == DecayGate::bounded &&
      (!std::isfinite(spec.lower_bound) || spec.lower_bound >= 0.0f)) {
    return refused("lower_bound", "must be finite and below 0");
  }
  return {};
}

State initial_state(const Spec& spec) {
  return {.tail = std::vector<float>(tail_elements(spec), 0.0f),
          .matrices = std::vector<float>(state_elements(spec), 0.0f)};
}

Status recurrent(const Spec& spec, const Weights& weights, const Inputs& inputs, State& state,
                 std::span<float> output) {
  ZLLM_TRY(const auto rows, GatedRows::make(spec, weights, inputs, state));
  const std::size_t width = spec.value_width;
  const std::size_t matrix = spec.key_width * width;
  ZLLM_CHECK(output.size() == rows.rows() * spec.value_heads * width, "delta rule: output");
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    for (std::size_t head = 0; head < spec.value_heads; ++head) {
      step(rows, row, head, std::span(state.matrices).subspan(head * matrix, matrix),
           output.subspan((row * spec.value_heads + head) * width, width));
    }
  }
  return {};
}

}  // namespace zllm::attention::delta_rule
