#pragma once

#include <zllm/kernel/cpu/norm-inl.h>
#include <zllm/kernel/cpu/stream.h>

namespace zllm::kernel::cpu {

template <class S>
float sum_of_squares(const float *values, std::size_t count) {
  return sum_mapped<S>(values, count,
                       [](auto value, std::size_t) { return S::multiply(value, value); });
}

template <class S>
void sum_streams(const StreamSum& params) {
  for (std::size_t i = 0; i < params.width; i += S::kLanes) {
    const std::size_t left = params.width - i;
    const std::size_t lanes = left < S::kLanes ? left : S::kLanes;
    auto sum = S::zero();
    for (std::size_t k = 0; k < params.count; ++k) {
      sum = S::fma(S::set(params.weights[k]),
                   S::load_first(params.streams + k * params.width + i, lanes), sum);
    }
    S::store_first(params.output + i, sum, lanes);
  }
}

template <class S>
void mean_of_streams(const StreamSum& params) {
  const auto count = S::set(static_cast<float>(params.count));
  for (std::size_t i = 0; i < params.width; i += S::kLanes) {
    const std::size_t left = params.width - i;
    const std::size_t lanes = left < S::kLanes ? left : S::kLanes;
    auto sum = S::zero();
    for (std::size_t k = 0; k < params.count; ++k) {
      sum = S::add(sum, S::load_first(params.streams + k * params.width + i, lanes));
    }
    S::store_first(params.output + i, S::divide(sum, count), lanes);
  }
}

template <class S>
void merge_streams(const StreamMerge& params) {
  typename S::Vec before[kStreams];
  for (std::size_t i = 0; i < params.width; i += S::kLanes) {
    const std::size_t left = params.width - i;
    const std::size_t lanes = left < S::kLanes ? left : S::kLanes;
    const auto sublayer = S::load_first(params.sublayer + i, lanes);
    for (std::size_t k = 0; k < params.count; ++k) {
      before[k] = S::load_first(params.streams + k * params.width + i, lanes);
    }
    for (std::size_t k = 0; k < params.count; ++k) {
      auto sum = S::multiply(S::set(params.after[k]), sublayer);
      for (std::size_t j = 0; j < params.count; ++j) {
        sum = S::fma(S::set(params.combine[j * params.count + k]), before[j], sum);
      }
      S::store_first(params.streams + k * params.width + i, sum, lanes);
    }
  }
}

template <class S>
constexpr StreamKernels make_stream_kernels() {
  return {.sum_of_squares = sum_of_squares<S>,
          .sum = sum_streams<S>,
          .mean = mean_of_streams<S>,
          .merge = merge_streams<S>};
}

}  // namespace zllm::kernel::cpu
