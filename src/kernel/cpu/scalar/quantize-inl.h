#pragma once

#include <cmath>
#include <cstring>
#include <limits>

#include <zllm/kernel/cpu/activation_block.h>

namespace zllm::kernel::cpu::scalar {
namespace {

inline void set_sums(ActivationBlock& block, float scale, std::int32_t first, std::int32_t second) {
  const std::int32_t sum = first + second;
  block.scale = scale;
  block.scaled_sum = scale * static_cast<float>(sum);
  block.scaled_half_sums[0] = scale * static_cast<float>(first);
  block.scaled_half_sums[1] = scale * static_cast<float>(second);
  block.start_8 = kFloatBaseBits - 8 * sum;
  block.start_128 = kFloatBaseBits - 128 * sum;
  block.half_starts_32[0] = kFloatBaseBits - 32 * first;
  block.half_starts_32[1] = kFloatBaseBits - 32 * second;
}

inline void quantize_block(const float *input, ActivationBlock& block) {
  // Magnitudes compare as integers, where NaN is above infinity and infinity above all numbers.
  std::uint32_t largest_bits = 0;
  for (std::size_t i = 0; i < kActivationBlock; ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &input[i], sizeof(bits));
    bits &= 0x7FFFFFFFU;
    largest_bits = bits > largest_bits ? bits : largest_bits;
  }
  float largest = 0;
  std::memcpy(&largest, &largest_bits, sizeof(largest));
  block = ActivationBlock{};
  if (largest_bits >= 0x7F800000U || largest < kSmallestActivation) {
    const bool finite = largest_bits < 0x7F800000U;
    set_sums(block, finite ? 0.0F : std::numeric_limits<float>::quiet_NaN(), 0, 0);
    return;
  }
  const float inverse = 127.0F / largest;
  std::int32_t sums[2] = {0, 0};
  for (std::size_t i = 0; i < kActivationBlock; ++i) {
    const auto code = static_cast<std::int8_t>(std::lrint(input[i] * inverse));
    block.codes[i] = code;
    sums[i / 16] += code;
  }
  set_sums(block, largest / 127.0F, sums[0], sums[1]);
}

inline void quantize_row(const QuantizeRow& params) {
  for (std::size_t i = 0; i < params.columns / kActivationBlock; ++i) {
    quantize_block(params.input + i * kActivationBlock, params.blocks[i]);
  }
}

}  // namespace
}  // namespace zllm::kernel::cpu::scalar
