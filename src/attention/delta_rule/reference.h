#pragma once

#include <span>
#include <vector>

#include <zllm/attention/delta_rule/spec.h>
#include <zllm/base/result.h>

// What the gated delta rule means (Yang et al. 2024, arXiv:2412.06464; Kimi Linear,
// arXiv:2510.26692). f32 in, out and state; sums in f64. For each row, in order:
//   y[c]   = silu(sum over taps j of taps[c, j] * u_{t-taps+1+j}[c])   causal, per channel
//   q      = l2(y_q) * key_width^-0.5,  k = l2(y_k),  l2 with 1e-6 under the root;  v = y_v
//   g      = decay gate of f (spec.h), at most 0;  beta = sigmoid(b)
// and with the head's state M [key_width, value_width], value head h using key head
// h / (value_heads / key_heads):
//   M <- diag(exp g) M;   e = beta * (v - M^T k);   M <- M + k e^T;   output = M^T q
// The decay comes before the read.
namespace zllm::attention::delta_rule {

// What a sequence keeps, all zeros before its first row.
struct State {
  std::vector<float> tail;      // [taps - 1, channels], oldest first
  std::vector<float> matrices;  // [value_heads, key_width, value_width]

  bool operator==(const State&) const = default;
};

struct Weights {
  std::span<const float> taps;        // [channels, taps]
  std::span<const float> rates;       // [value_heads]
  std::span<const float> decay_bias;  // [decays]
};

struct Inputs {
  std::span<const float> mixed;  // [rows, channels]: u, before the convolution
  std::span<const float> decay;  // [rows, decays]: f, before the gate
  std::span<const float> beta;   // [rows, value_heads]: b, before the sigmoid
};

Status validate(const Spec& spec);
State initial_state(const Spec& spec);

// Row by row. output [rows, value_heads, value_width]. An error names the operand, row and element
// of a NaN or infinity, or the negated rate above 0; state and output are then unspecified.
Status recurrent(const Spec& spec, const Weights& weights, const Inputs& inputs, State& state,
                 std::span<float> output);

// The same in chunks of `chunk` rows: inside one, the rows' updates are solved together from
// decays relative to one another, exp(c_i - c_j) with j <= i, never as a quotient of exponentials.
Status chunked(const Spec& spec, const Weights& weights, const Inputs& inputs, std::size_t chunk,
               State& state, std::span<float> output);

// exp(g) of one decay input; the rate as the file gives it (spec.h).
double decay_factor(const Spec& spec, double input, double rate, double bias);

}  // namespace zllm::attention::delta_rule
