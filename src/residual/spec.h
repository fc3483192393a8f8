#pragma once

#include <cstdint>

namespace zllm::residual {

// Manifold-constrained hyper-connections of one model. Formulas: hyper_connection.h.
struct HyperConnectionSpec {
  std::uint32_t streams = 0;     // residual streams of a row
  std::uint32_t iterations = 0;  // of Sinkhorn, at least 1
  double norm_epsilon = 1e-5;    // of the RMS over all streams
  double epsilon = 1e-6;         // of the mixing weights

  bool operator==(const HyperConnectionSpec&) const = default;
};

// Mixing logits of a site: before, after, combine.
constexpr std::uint32_t mix_width(const HyperConnectionSpec& spec) {
  return (2 + spec.streams) * spec.streams;
}

}  // namespace zllm::residual
