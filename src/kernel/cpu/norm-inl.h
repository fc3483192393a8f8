#pragma once

#include <zllm/kernel/cpu/elementwise.h>

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

// output = weight * ((x - mean) * inverse) + bias.
template <class S>
void normalise(const NormParams& params, const float *input, float *output, float mean,
               float inverse) {
  for (std::size_t i = 0; i < params.columns; i += S::kLanes) {
    const std::size_t left = params.columns - i;
    const std::size_t lanes = left < S::kLanes ? left : S::kLanes;
    auto value = S::subtract(S::load_first(input + i, lanes), S::set(mean));
    value = S::multiply(value, S::set(inverse));
    if (params.weight != nullptr) {
      value = S::multiply(value, S::load_first(params.weight + i, lanes));
    }
    if (params.bias != nullptr) {
      value = S::add(value, S::load_first(params.bias + i, lanes));
    }
    S::store_first(output + i, value, lanes);
  }
}

template <class S>
void rms_norm(const NormParams& params) {
  const float columns = static_cast<float>(params.columns);
  for (std::size_t row = 0; row < params.rows; ++row) {
    for (std::size_t group = 0; group < params.groups; ++group) {
      const float *input = params.input + row * params.input_row_stride + group * params.columns;
      const float sum = sum_mapped<S>(
          input, params.columns, [](auto value, std::size_t) { return S::multiply(value, value); });
      normalise<S>(params, input,
                   params.output + row * params.output_row_stride + group * params.columns, 0.0F,
                   1.0F / __builtin_sqrtf(sum / columns + params.epsilon));
    }
  }
}

template <class S>
void layer_norm(const NormParams& params) {
  const float columns = static_cast<float>(params.columns);
  for (std::size_t row = 0; row < params.rows; ++row) {
    for (std::size_t group = 0; group < params.groups; ++group) {
      const float *input = params.input + row * params.input_row_stride + group * params.columns;
      const float mean =
          sum_mapped<S>(input, params.columns, [](auto value, std::size_t) { return value; }) /
          columns;
      const float squares =
          sum_mapped<S>(input, params.columns, [mean](auto value, std::size_t lanes) {
            const auto centred = S::keep_lanes(S::subtract(value, S::set(mean)), 0, lanes, 0.0F);
            return S::multiply(centred, centred);
          });
      normalise<S>(params, input,
                   params.output + row * params.output_row_stride + group * params.columns, mean,
                   1.0F / __builtin_sqrtf(squares / columns + params.epsilon));
    }
  }
}

}  // namespace zllm::kernel::cpu
