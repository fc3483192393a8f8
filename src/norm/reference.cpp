#include <zllm/norm/reference.h>

#include <cmath>

#include <zllm/base/check.h>

namespace zllm::norm {
namespace {

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

// What a row is shifted by and multiplied with before weights.
struct Moments {
  double shift = 0.0;
  double scale = 1.0;
};

Moments moments(const Spec& spec, std::span<const float> row) {
  const double width = static_cast<double>(row.size());
  Moments result;
  if (spec.flavour == Flavour::layer) {
    double sum = 0.0;
    for (const float x : row) {
      sum += static_cast<double>(x);
    }
    result.shift = sum / width;
  }
  double squares = 0.0;
  for (const float x : row) {
    const double centred = static_cast<double>(x) - result.shift;
    squares += centred * centred;
  }
  const double size = spec.flavour == Flavour::l2 ? squares : squares / width;
  result.scale = 1.0 / std::sqrt(size + spec.epsilon);
  return result;
}

float weighted(const Spec& spec, const Inputs& inputs, double normalised, std::size_t row,
               std::size_t lane) {
  const double weight = has_weight(spec.flavour) ? static_cast<double>(inputs.weight[lane]) : 1.0;
  const auto rounded = static_cast<double>(static_cast<float>(normalised));
  switch (spec.flavour) {
    case Flavour::rms:
      return static_cast<float>(rounded * weight);
    case Flavour::rms_plus_one:
      return static_cast<float>(normalised * (1.0 + weight));
    case Flavour::rms_unweighted:
    case Flavour::l2:
      return static_cast<float>(normalised);
    case Flavour::layer:
      return static_cast<float>(normalised * weight + static_cast<double>(inputs.bias[lane]));
    case Flavour::gated_rms_silu:
    case Flavour::gated_rms_sigmoid: {
      const auto z = static_cast<double>(inputs.gate[row * inputs.width + lane]);
      const double gate = sigmoid(z) * (spec.flavour == Flavour::gated_rms_silu ? z : 1.0);
      return static_cast<float>(rounded * weight * gate);
    }
  }
  ZLLM_CHECK(false, "flavour of norm out of its enumerators");
}

}  // namespace

void normalise(const Spec& spec, const Inputs& inputs, std::span<float> output) {
  const std::size_t width = inputs.width;
  ZLLM_CHECK(width > 0 && inputs.rows.size() % width == 0, "norm: rows of another width");
  ZLLM_CHECK(output.size() == inputs.rows.size(), "norm: output of another size");
  ZLLM_CHECK(!has_weight(spec.flavour) || inputs.weight.size() == width, "norm: weight size");
  ZLLM_CHECK(!has_bias(spec.flavour) || inputs.bias.size() == width, "norm: bias size");
  ZLLM_CHECK(!has_gate(spec.flavour) || inputs.gate.size() == inputs.rows.size(),
             "norm: gate size");
  for (std::size_t row = 0; row < inputs.rows.size() / width; ++row) {
    const std::span<const float> values = inputs.rows.subspan(row * width, width);
    const Moments row_moments = moments(spec, values);
    for (std::size_t lane = 0; lane < width; ++lane) {
      const double centred = static_cast<double>(values[lane]) - row_moments.shift;
      output[row * width + lane] = weighted(spec, inputs, centred * row_moments.scale, row, lane);
    }
  }
}

}  // namespace zllm::norm
