#pragma once

#include <zllm/kernel/cpu/elementwise.h>
#include <zllm/kernel/cpu/exponential-inl.h>

namespace zllm::kernel::cpu {

template <class S, class Map>
void map_pairs(const BinaryParams& params, Map map) {
  for (std::size_t row = 0; row < params.rows; ++row) {
    const float *const left = params.left + row * params.left_row_stride;
    const float *const right = params.right + row * params.right_row_stride;
    float *const output = params.output + row * params.output_row_stride;
    for (std::size_t i = 0; i < params.columns; i += S::kLanes) {
      const std::size_t rest = params.columns - i;
      const std::size_t lanes = rest < S::kLanes ? rest : S::kLanes;
      S::store_first(output + i,
                     map(S::load_first(left + i, lanes), S::load_first(right + i, lanes)), lanes);
    }
  }
}

// value / (1 + e^-argument): no other form keeps small results exact on the negative side.
template <class S>
typename S::Vec times_sigmoid(typename S::Vec value, typename S::Vec argument) {
  const auto decay = exponential<S>(S::subtract(S::zero(), argument));
  return S::divide(value, S::add(S::set(1.0F), decay));
}

// Minimum and maximum give their second operand where either is NaN, so NaN passes the limits.
template <class S>
typename S::Vec at_most(typename S::Vec value, float limit) {
  return S::minimum(S::set(limit), value);
}

template <class S>
typename S::Vec within(typename S::Vec value, float limit) {
  return S::maximum(S::set(-limit), at_most<S>(value, limit));
}

template <class S>
void swiglu(const BinaryParams& params) {
  map_pairs<S>(params,
               [](auto gate, auto up) { return S::multiply(times_sigmoid<S>(gate, gate), up); });
}

template <class S>
void clamped_swiglu(const GateParams& params) {
  map_pairs<S>(params.rows, [limit = params.limit](auto gate, auto up) {
    const auto low = at_most<S>(gate, limit);
    return S::multiply(times_sigmoid<S>(low, low), within<S>(up, limit));
  });
}

template <class S>
void swiglu_oai(const GateParams& params) {
  const auto alpha = S::set(params.alpha);
  map_pairs<S>(params.rows, [limit = params.limit, alpha](auto gate, auto up) {
    const auto low = at_most<S>(gate, limit);
    return S::multiply(times_sigmoid<S>(low, S::multiply(alpha, low)),
                       S::add(within<S>(up, limit), S::set(1.0F)));
  });
}

constexpr float kTwoRootsOfTwoOverPi = 1.59576912F;

template <class S>
void geglu_tanh(const BinaryParams& params) {
  // (1 + tanh(y)) / 2 is sigmoid(2 y), which does not cancel where tanh is near -1.
  map_pairs<S>(params, [](auto gate, auto up) {
    const auto cubic = S::fma(S::set(0.044715F), S::multiply(gate, gate), S::set(1.0F));
    const auto argument = S::multiply(S::multiply(gate, cubic), S::set(kTwoRootsOfTwoOverPi));
    return S::multiply(times_sigmoid<S>(gate, argument), up);
  });
}

// size * tanh(value / size).
template <class S>
typename S::Vec softly_within(typename S::Vec value, float size) {
  return S::multiply(S::set(size), hyperbolic_tangent<S>(S::divide(value, S::set(size))));
}

template <class S>
void situ(const GateParams& params) {
  map_pairs<S>(params.rows,
               [beta = params.beta, linear_beta = params.linear_beta](auto gate, auto up) {
                 const auto bounded = linear_beta > 0.0F ? softly_within<S>(up, linear_beta) : up;
                 return S::multiply(times_sigmoid<S>(softly_within<S>(gate, beta), gate), bounded);
               });
}

}  // namespace zllm::kernel::cpu
