#pragma once

#include <span>
#include <string_view>

#include <zllm/backend/capability/op_key.h>
#include <zllm/base/result.h>

namespace zllm::conformance {

// How far results lie from the expected ones.
struct Deviation {
  double nmse = 0;     // sum of squared errors / sum of squared expected values
  double maximum = 0;  // largest error / root mean square of the expected values

  // The worse of both, each by itself.
  void include(const Deviation& other);
};

// What a backend's results may deviate from the reference.
struct Bound {
  double nmse = 0;
  double maximum = 0;

  bool holds(const Deviation& deviation) const;  // false for NaN
};

// Of an operation, and of the encoding of its weights or cache.
Bound bound(backend::Op op, encoding::Encoding encoding);

// An error where a result is NaN or infinite.
Result<Deviation> compare(std::span<const float> results, std::span<const float> expected);

}  // namespace zllm::conformance
