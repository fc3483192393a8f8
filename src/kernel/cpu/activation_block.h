#pragma once

#include <cstddef>
#include <cstdint>

namespace zllm::kernel::cpu {

constexpr std::size_t kActivationBlock = 32;

// The bits of 1.5 * 2^23: an integer of less than 2^22 in magnitude added to them gives the float
// 1.5 * 2^23 + integer. Products start there, so that they need no conversion: with the float base
// B and a scale s of at most 22 bits, fma(B + product, s, -B * s) is product * s rounded once.
constexpr std::int32_t kFloatBaseBits = 0x4B400000;
constexpr float kFloatBase = 12582912.0F;

// 32 consecutive inputs as symmetric int8: value = scale * code, scale = max|value| / 127.
// A block that holds a NaN or an infinity has scale NaN, so products show it. The sums and starts
// serve weights whose codes have a minimum or an offset; they are made here once so that no product
// has to. One cache line.
struct alignas(64) ActivationBlock {
  std::int8_t codes[kActivationBlock];
  float scale;
  float scaled_sum;                // scale * sum of the codes
  float scaled_half_sums[2];       // the same of codes 0..15 and 16..31
  std::int32_t start_8;            // kFloatBaseBits - 8 * sum of the codes
  std::int32_t start_128;          // kFloatBaseBits - 128 * sum of the codes
  std::int32_t half_starts_32[2];  // kFloatBaseBits - 32 * sum of codes 0..15 and 16..31
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
