#pragma once

#include <zllm/kernel/cpu/elementwise.h>
#include <zllm/kernel/cpu/exponential-inl.h>
#include <zllm/kernel/cpu/gate-inl.h>
#include <zllm/kernel/cpu/norm-inl.h>

namespace zllm::kernel::cpu {

template <class S, class Map>
void map_rows(const UnaryParams& params, Map map) {
  for (std::size_t row = 0; row < params.rows; ++row) {
    const float *const input = params.input + row * params.input_row_stride;
    float *const output = params.output + row * params.output_row_stride;
    for (std::size_t i = 0; i < params.columns; i += S::kLanes) {
      const std::size_t rest = params.columns - i;
      const std::size_t lanes = rest < S::kLanes ? rest : S::kLanes;
      S::store_first(output + i, map(S::load_first(input + i, lanes)), lanes);
    }
  }
}

template <class S>
void add(const BinaryParams& params) {
  map_pairs<S>(params, [](auto left, auto right) { return S::add(left, right); });
}

template <class S>
void weighted_sum(const WeightedSumParams& params) {
  for (std::size_t i = 0; i < params.columns; i += S::kLanes) {
    const std::size_t rest = params.columns - i;
    const std::size_t lanes = rest < S::kLanes ? rest : S::kLanes;
    auto sum = S::zero();
    for (std::size_t k = 0; k < params.count; ++k) {
      const float *const term = params.terms + params.places[k] * params.term_stride;
      const auto value = S::load_first(term + i, lanes);
      sum = S::add(sum, S::multiply(S::set(params.weights[k]), value));
    }
    if (params.accumulate) {
      sum = S::add(S::load_first(params.output + i, lanes), sum);
    }
    S::store_first(params.output + i, sum, lanes);
  }
}

template <class S>
void scale(const UnaryParams& params) {
  const auto factor = S::set(params.factor);
  map_rows<S>(params, [factor](auto value) { return S::multiply(factor, value); });
}

template <class S>
void softcap(const UnaryParams& params) {
  const auto cap = S::set(params.factor);
  map_rows<S>(params, [cap](auto value) {
    return S::multiply(cap, hyperbolic_tangent<S>(S::divide(value, cap)));
  });
}

template <class S>
void rope_half(float *head, const float *cosines, const float *sines, std::size_t pairs) {
  for (std::size_t i = 0; i < pairs; i += S::kLanes) {
    const std::size_t lanes = pairs - i < S::kLanes ? pairs - i : S::kLanes;
    const auto cosine = S::load_first(cosines + i, lanes);
    const auto sine = S::load_first(sines + i, lanes);
    const auto a = S::load_first(head + i, lanes);
    const auto b = S::load_first(head + pairs + i, lanes);
    S::store_first(head + i, S::subtract(S::multiply(a, cosine), S::multiply(b, sine)), lanes);
    S::store_first(head + pairs + i, S::add(S::multiply(b, cosine), S::multiply(a, sine)), lanes);
  }
}

template <class S>
void rope_adjacent(float *head, const float *cosines, const float *sines, std::size_t pairs) {
  for (std::size_t i = 0; i < pairs; ++i) {
    const float a = head[2 * i];
    const float b = head[2 * i + 1];
    head[2 * i] = a * cosines[i] - b * sines[i];
    head[2 * i + 1] = b * cosines[i] + a * sines[i];
  }
}

template <class S>
void rope(const RopeParams& params) {
  const std::size_t pairs = params.rotated / 2;
  for (std::size_t row = 0; row < params.rows; ++row) {
    const float *const cosines = params.cosines + row * pairs;
    const float *const sines = params.sines + row * pairs;
    for (std::size_t i = 0; i < params.head_count; ++i) {
      float *const head = params.heads + row * params.row_stride + i * params.head;
      if (params.pairing == RopePairing::half) {
        rope_half<S>(head, cosines, sines, pairs);
      } else {
        rope_adjacent<S>(head, cosines, sines, pairs);
      }
    }
  }
}

template <class S>
LargestElement largest_element(const float *values, std::size_t count) {
  const auto infinity = S::set(__builtin_inff());
  const auto lowest = S::set(-__builtin_inff());
  const auto one = S::set(1.0F);
  auto largest = lowest;
  auto nans = S::zero();
  for (std::size_t i = 0; i < count; i += S::kLanes) {
    const std::size_t lanes = count - i < S::kLanes ? count - i : S::kLanes;
    auto value = S::load_first(values + i, lanes);
    value = S::keep_lanes(value, 0, lanes, -__builtin_inff());
    largest = S::maximum(value, largest);
    // Only NaN is neither below infinity nor above minus infinity.
    const auto is_nan = S::select_less(lowest, value, S::zero(), one);
    nans = S::maximum(nans, S::select_less(value, infinity, S::zero(), is_nan));
  }
  const float found = S::largest(largest);
  LargestElement result;
  result.has_nan = S::largest(nans) != 0.0F;
  for (std::size_t i = 0; i < count; ++i) {
    if (values[i] == found) {
      result.index = i;
      break;
    }
  }
  return result;
}

template <class S>
bool has_nonfinite(const float *values, std::size_t count) {
  // Zero times anything finite is zero; times infinity or NaN it is NaN, which no sum forgets.
  const float sum = sum_mapped<S>(
      values, count, [](auto value, std::size_t) { return S::multiply(value, S::zero()); });
  return sum != 0.0F;
}

template <class S>
void widen_halves(const std::uint16_t *halves, std::size_t count, float *values) {
  std::size_t i = 0;
  for (; i + S::kLanes <= count; i += S::kLanes) {
    S::store(values + i, S::load(halves + i));
  }
  if (i < count) {
    std::uint16_t last[S::kLanes] = {};
    __builtin_memcpy(last, halves + i, (count - i) * sizeof(std::uint16_t));
    S::store_first(values + i, S::load(last), count - i);
  }
}

template <class S>
void narrow_to_halves(const float *values, std::size_t count, std::uint16_t *halves) {
  std::size_t i = 0;
  for (; i + S::kLanes <= count; i += S::kLanes) {
    S::store(halves + i, S::load(values + i));
  }
  if (i < count) {
    std::uint16_t last[S::kLanes];
    S::store(last, S::load_first(values + i, count - i));
    __builtin_memcpy(halves + i, last, (count - i) * sizeof(std::uint16_t));
  }
}

template <class S>
constexpr ElementwiseKernels make_elementwise_kernels() {
  return {.rms_norm = rms_norm<S>,
          .layer_norm = layer_norm<S>,
          .gated_rms_norm = gated_rms_norm<S>,
          .add = add<S>,
          .weighted_sum = weighted_sum<S>,
          .swiglu = swiglu<S>,
          .clamped_swiglu = clamped_swiglu<S>,
          .swiglu_oai = swiglu_oai<S>,
          .geglu_tanh = geglu_tanh<S>,
          .situ = situ<S>,
          .scale = scale<S>,
          .softcap = softcap<S>,
          .rope = rope<S>,
          .largest_element = largest_element<S>,
          .has_nonfinite = has_nonfinite<S>,
          .widen_halves = widen_halves<S>,
          .narrow_to_halves = narrow_to_halves<S>};
}

}  // namespace zllm::kernel::cpu
