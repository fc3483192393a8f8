#pragma once

#include <span>

#include <zllm/activation/spec.h>

// What activations mean, in f64 with one rounding at the end of the span forms.
//   silu(x)      = x * sigmoid(x)                       Elfwing et al. 2017, arXiv:1702.03118
//   gelu_tanh(x) = x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))    arXiv:1606.08415
//   swiglu       = silu(g) * u                          Shazeer 2020, arXiv:2002.05202
//   clamped      : g = min(g, L), u = clip(u, -L, L), then swiglu
//   swiglu_oai   : g = min(g, L), u = clip(u, -L, L), g * sigmoid(alpha * g) * (u + 1)
//   situ         = b * tanh(g/b) * sigmoid(g) * lb * tanh(u/lb)
// The gate is clamped from above alone. NaN stays NaN in every one of them.
namespace zllm::activation {

double sigmoid(double x);
double silu(double x);
double gelu_tanh(double x);
double swiglu(double gate, double up);
double clamped_swiglu(double gate, double up, double limit);
double swiglu_oai(double gate, double up, double limit, double alpha);
double geglu_tanh(double gate, double up);
double situ(double gate, double up, double beta, double linear_beta);

// The spec's function of one gate and up.
double apply(const Spec& spec, double gate, double up);
// output[i] = the spec's function of gate[i] and up[i]; the three have one size, and output may be
// gate or up itself.
void apply(const Spec& spec, std::span<const float> gate, std::span<const float> up,
           std::span<float> output);

// output[i] = f(input[i]); output may be input itself.
void silu(std::span<const float> input, std::span<float> output);
void gelu_tanh(std::span<const float> input, std::span<float> output);

}  // namespace zllm::activation
