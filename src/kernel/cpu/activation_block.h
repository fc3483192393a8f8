#pragma once

#include <cstddef>
#include <cstdint>

namespace zllm::kernel::cpu {

constexpr std::size_t kActivationBlock = 32;

// 32 consecutive inputs as symmetric int8: value = scale * code, scale = max|value| / 127.
// A block that holds a NaN or an infinity has scale NaN, so products show it.
struct ActivationBlock {
  std::int8_t codes[kActivationBlock];
  float scale;
  float scaled_sum;      // scale * (sums[0] + sums[1])
  std::int32_t sums[2];  // of codes 0..15 and 16..31
};
static_assert(sizeof(ActivationBlock) == 48);

struct QuantizeRow {
  const float *input;       // [columns]
  std::size_t columns;      // a multiple of 32
  ActivationBlock *blocks;  // [columns / 32]
};

// A block whose largest magnitude is below this becomes zero, since 127 / magnitude must be finite.
constexpr float kSmallestActivation = 0x1p-100F;

}  // namespace zllm::kernel::cpu
