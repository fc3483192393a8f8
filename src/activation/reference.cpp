#include <zllm/activation/reference.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include <zllm/base/check.h>

namespace zllm::activation {
namespace {

template <class Function>
void map(std::span<const float> input, std::span<float> output, Function function) {
  ZLLM_CHECK(input.size() == output.size(), "activation: output of another size");
  for (std::size_t i = 0; i < input.size(); ++i) {
    output[i] = static_cast<float>(function(static_cast<double>(input[i])));
  }
}

}  // namespace

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

double silu(double x) { return x * sigmoid(x); }

double gelu_tanh(double x) {
  const double inner = std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1.0 + std::tanh(inner));
}

double swiglu(double gate, double up) { return silu(gate) * up; }

double clamped_swiglu(double gate, double up, double limit) {
  return swiglu(std::min(gate, limit), std::clamp(up, -limit, limit));
}

double swiglu_oai(double gate, double up, double limit, double alpha) {
  const double low = std::min(gate, limit);
  return low * sigmoid(alpha * low) * (std::clamp(up, -limit, limit) + 1.0);
}

double geglu_tanh(double gate, double up) { return gelu_tanh(gate) * up; }

double situ(double gate, double up, double beta, double linear_beta) {
  const double bounded = linear_beta > 0.0 ? linear_beta * std::tanh(up / linear_beta) : up;
  return beta * std::tanh(gate / beta) * sigmoid(gate) * bounded;
}

double apply(const Spec& spec, double gate, double up) {
  switch (spec.gate) {
    case Gate::swiglu:
      return swiglu(gate, up);
    case Gate::clamped_swiglu:
      return clamped_swiglu(gate, up, spec.limit);
    case Gate::swiglu_oai:
      return swiglu_oai(gate, up, spec.limit, spec.alpha);
    case Gate::geglu_tanh:
      return geglu_tanh(gate, up);
    case Gate::situ:
      return situ(gate, up, spec.beta, spec.linear_beta);
  }
  ZLLM_CHECK(false, "gate out of its enumerators");
}

void apply(const Spec& spec, std::span<const float> gate, std::span<const float> up,
           std::span<float> output) {
  ZLLM_CHECK(gate.size() == up.size() && gate.size() == output.size(),
             "activation: gate, up and output of different sizes");
  for (std::size_t i = 0; i < gate.size(); ++i) {
    output[i] =
        static_cast<float>(apply(spec, static_cast<double>(gate[i]), static_cast<double>(up[i])));
  }
}

void silu(std::span<const float> input, std::span<float> output) {
  map(input, output, [](double x) { return silu(x); });
}

void gelu_tanh(std::span<const float> input, std::span<float> output) {
  map(input, output, [](double x) { return gelu_tanh(x); });
}

}  // namespace zllm::activation
