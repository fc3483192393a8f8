#pragma once

#include <zllm/kernel/cpu/delta_rule.h>

namespace zllm::kernel::cpu {

// Vectors of columns of a head's matrix that pass over the rows together: their block of the matrix
// stays in the first-level cache.
constexpr std::size_t kDeltaRuleVecs = 2;
constexpr std::size_t kWidestVec = 16;

// Places in the scratch memory, in floats, each on a cache line border. A head's channels are its
// query, key and value.
struct DeltaRuleLayout {
  std::size_t channels = 0;  // 2 * key_width + value_width
  std::size_t inputs = 0;    // [taps - 1 + kDeltaRuleRows][channels]
  std::size_t taps = 0;      // [taps][channels]
  std::size_t mixed = 0;     // [kDeltaRuleRows][channels], after the convolution
  std::size_t decays = 0;    // [kDeltaRuleRows][key_width]
  std::size_t betas = 0;     // [kDeltaRuleRows]
  std::size_t block = 0;     // [key_width][kDeltaRuleVecs vectors]
  std::size_t end = 0;
};

DeltaRuleLayout delta_rule_layout(const DeltaRuleShape& shape);

}  // namespace zllm::kernel::cpu
