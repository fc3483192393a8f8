#pragma once

#include <zllm/kernel/cpu/elementwise.h>
#include <zllm/kernel/cpu/gate-inl.h>

namespace zllm::kernel::cpu {

// Sums of map(vector, lanes) over a run: four partial vectors taken in turn, so that the order of
// the additions depends on the length alone.
template <class S, class Map>
float sum_mapped(const float *values, std::size_t count, Map map) {
  constexpr std::size_t kSums = 4;
  typename S::Vec sums[kSums] = {S::zero(), S::zero(), S::zero(), S::zero()};
  std::size_t i = 0;
  for (; i + kSums * S::kLanes <= count; i += kSums * S::kLanes) {
    for (std::size_t k = 0; k < kSums; ++k) {
      sums[k] = S::add(sums[k], map(S::load(values + i + k * S::kLanes), S::kLanes));
    }
  }
  for (; i < count; i += S::kLanes) {
    const std::size_t lanes = count - i < S::kLanes ? count - i : S::kLanes;
    sums[0] = S::add(sums[0], map(S::load_first(values + i, lanes), lanes));
  }
  return S::sum(S::add(S::add(sums[0], sums[1]), S::add(sums[2], sums[3])));
}

// output = weight * ((x - mean - rest) * inverse) + bias. The mean is in two parts, since a mean
// rounded to f32 would shift a row of large, nearly equal values by more than they differ.
struct NormMoments {
  float mean = 0.0F;
  float rest = 0.0F;
  float inverse = 1.0F;
};

template <class S>
void normalise(const NormParams& params, const float *input, float *output,
               const NormMoments& moments) {
  for (std::size_t i = 0; i < params.columns; i += S::kLanes) {
    const std::size_t left = params.columns - i;
    const std::size_t lanes = left < S::kLanes ? left : S::kLanes;
    auto value = S::subtract(S::load_first(input + i, lanes), S::set(moments.mean));
    value = S::multiply(S::subtract(value, S::set(moments.rest)), S::set(moments.inverse));
    if (params.weight != nullptr) {
      value = S::multiply(value, S::load_first(params.weight + i, lanes));
    }
    if (params.bias != nullptr) {
      value = S::add(value, S::load_first(params.bias + i, lanes));
    }
    S::store_first(output + i, value, lanes);
  }
}

// Calls norm(input, output, row, group) for every group.
template <class Norm>
void for_groups(const NormParams& params, Norm norm) {
  for (std::size_t row = 0; row < params.rows; ++row) {
    for (std::size_t group = 0; group < params.groups; ++group) {
      const std::size_t start = group * params.columns;
      norm(params.input + row * params.input_row_stride + start,
           params.output + row * params.output_row_stride + start, row, group);
    }
  }
}

// 1 / sqrt(mean(x^2) + epsilon).
template <class S>
float rms_inverse(const NormParams& params, const float *input) {
  const float sum = sum_mapped<S>(
      input, params.columns, [](auto value, std::size_t) { return S::multiply(value, value); });
  return 1.0F / __builtin_sqrtf(sum / static_cast<float>(params.columns) + params.epsilon);
}

template <class S>
void rms_norm(const NormParams& params) {
  for_groups(params, [&](const float *input, float *output, std::size_t, std::size_t) {
    normalise<S>(params, input, output, {.inverse = rms_inverse<S>(params, input)});
  });
}

template <class S>
NormMoments layer_moments(const NormParams& params, const float *input) {
  const float columns = static_cast<float>(params.columns);
  NormMoments moments;
  moments.mean =
      sum_mapped<S>(input, params.columns, [](auto value, std::size_t) { return value; }) / columns;
  const auto centred = [&](auto value, std::size_t lanes) {
    value = S::subtract(S::subtract(value, S::set(moments.mean)), S::set(moments.rest));
    return S::keep_lanes(value, 0, lanes, 0.0F);
  };
  moments.rest = sum_mapped<S>(input, params.columns, centred) / columns;
  const float squares = sum_mapped<S>(input, params.columns, [&](auto value, std::size_t lanes) {
    value = centred(value, lanes);
    return S::multiply(value, value);
  });
  moments.inverse = 1.0F / __builtin_sqrtf(squares / columns + params.epsilon);
  return moments;
}

template <class S>
void layer_norm(const NormParams& params) {
  for_groups(params, [&](const float *input, float *output, std::size_t, std::size_t) {
    normalise<S>(params, input, output, layer_moments<S>(params, input));
  });
}

template <class S>
void gated_rms_norm(const GatedNormParams& params) {
  const NormParams& norm = params.norm;
  const auto one = S::set(1.0F);
  for_groups(norm, [&](const float *input, float *output, std::size_t row, std::size_t group) {
    const float *gate = params.gate + row * params.gate_row_stride + group * norm.columns;
    const auto inverse = S::set(rms_inverse<S>(norm, input));
    for (std::size_t i = 0; i < norm.columns; i += S::kLanes) {
      const std::size_t left = norm.columns - i;
      const std::size_t lanes = left < S::kLanes ? left : S::kLanes;
      auto value = S::multiply(S::load_first(input + i, lanes), inverse);
      if (norm.weight != nullptr) {
        value = S::multiply(value, S::load_first(norm.weight + i, lanes));
      }
      const auto z = S::load_first(gate + i, lanes);
      const auto factor = times_sigmoid<S>(params.function == NormGate::silu ? z : one, z);
      S::store_first(output + i, S::multiply(value, factor), lanes);
    }
  });
}

}  // namespace zllm::kernel::cpu
