#pragma once

#include <cstddef>

namespace zllm::kernel::cpu {

// A row's residual streams are [streams][width].

// output = sum over streams k of weights[k] * stream k.
struct StreamSum {
  const float *streams = nullptr;
  std::size_t count = 0;
  std::size_t width = 0;
  const float *weights = nullptr;  // [count]
  float *output = nullptr;         // [width]
};

// stream k = after[k] * sublayer + sum over j of combine[j, k] * stream j, in place.
struct StreamMerge {
  const float *sublayer = nullptr;  // [width]
  const float *after = nullptr;     // [count]
  const float *combine = nullptr;   // [count, count]
  std::size_t count = 0;            // at most kStreams
  std::size_t width = 0;
  float *streams = nullptr;
};

// Of a merge, which holds a vector of every stream: models have 2 to 8.
constexpr std::size_t kStreams = 16;

// Of one instruction set; thread-safe.
struct StreamKernels {
  float (*sum_of_squares)(const float *values, std::size_t count);
  void (*sum)(const StreamSum& params);
  void (*mean)(const StreamSum& params);  // without weights
  void (*merge)(const StreamMerge& params);
};

}  // namespace zllm::kernel::cpu
