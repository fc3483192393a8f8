#pragma once

#include <cstddef>
#include <cstdint>

namespace zllm::kernel::cpu {

constexpr std::size_t kActivationBlock = 32;

// 32 consecutive inputs as symmetric int8: value = scale * code, scale = max|value| / 127.
// A block that holds a NaN or an infinity has scale NaN, so products show it. The sums serve
// weights whose codes have an offset or a minimum; they are multiplied here once so that no
// product has to. One cache line.
struct alignas(64) ActivationBlock {
  std::int8_t codes[kActivationBlock];
  float scale;
  float scaled_sum;                    // scale * sum of the codes
  float scaled_half_sums[2];           // the same of codes 0..15 and 16..31
  std::int32_t minus_8_sum;            // -8 * sum of the codes
  std::int32_t minus_128_sum;          // -128 * sum of the codes
  std::int32_t minus_32_half_sums[2];  // -32 * sum of codes 0..15 and 16..31
};
static_assert(sizeof(ActivationBlock) == 64);

struct QuantizeRow {
  const float *input;       // [columns]
  std::size_t columns;      // a multiple of 32
  ActivationBlock *blocks;  // [columns / 32]
};

// A block whose largest magnitude is below this becomes zero, since 127 / magnitude must be finite.
constexpr float kSmallestActivation = 0x1p-100F;

}  // namespace zllm::kernel::cpu
