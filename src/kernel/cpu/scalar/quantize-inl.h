#pragma once

#include <cmath>
#include <cstring>
#include <limits>

#include <zllm/kernel/cpu/activation_block.h>

namespace zllm::kernel::cpu::scalar {
namespace {

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
  if (largest_bits >= 0x7F800000U) {
    block.scale = std::numeric_limits<float>::quiet_NaN();
    block.scaled_sum = block.scale;
    return;
  }
  if (largest < kSmallestActivation) {
    return;
  }
  const float inverse = 127.0F / largest;
  for (std::size_t i = 0; i < kActivationBlock; ++i) {
    const auto code = static_cast<std::int8_t>(std::lrint(input[i] * inverse));
    block.codes[i] = code;
    block.sums[i / 16] += code;
  }
  block.scale = largest / 127.0F;
  block.scaled_sum = block.scale * static_cast<float>(block.sums[0] + block.sums[1]);
}

inline void quantize_row(const QuantizeRow& params) {
  for (std::size_t i = 0; i < params.columns / kActivationBlock; ++i) {
    quantize_block(params.input + i * kActivationBlock, params.blocks[i]);
  }
}

}  // namespace
}  // namespace zllm::kernel::cpu::scalar
