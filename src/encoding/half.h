#pragma once

#include <bit>
#include <cstdint>

// IEEE 754 binary16 and bfloat16 as bit patterns, to and from f32.
//
// Kernels compile this header and the formats' decode with the flags of their own instruction set;
// a shared out-of-line copy could then hold instructions that the machine lacks. Hence
// always_inline, here and in every format.
namespace zllm::encoding {

// Exact for every number; NaN keeps its sign and payload.
[[gnu::always_inline]] constexpr float f16_to_f32(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1fu;
  const std::uint32_t mantissa = half & 0x3ffu;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  const std::uint32_t widened = exponent == 31 ? 255u : exponent + (127 - 15);
  return std::bit_cast<float>(sign | (widened << 23) | (mantissa << 13));
}

// Rounds to nearest, ties to even; too large becomes infinite, NaN stays a (quiet) NaN. Needs the
// default rounding mode.
[[gnu::always_inline]] constexpr std::uint16_t f32_to_f16(float value) {
  constexpr std::uint32_t kInfinity = 0x7f800000;
  constexpr std::uint32_t kFirstRoundedToInfinity = 0x477ff000;  // 65520
  constexpr std::uint32_t kSmallestNormalHalf = 0x38800000;      // 2^-14
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  std::uint32_t half = 0;
  if (magnitude > kInfinity) {
    half = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  } else if (magnitude >= kFirstRoundedToInfinity) {
    half = 0x7c00u;
  } else if (magnitude < kSmallestNormalHalf) {
    // The last mantissa bit of numbers in [0.5, 1) is 2^-24, that of subnormal halves, so the
    // addition does the rounding.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    half = std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(0.5f);
  } else {
    const std::uint32_t is_odd = (magnitude >> 13) & 1u;
    half = (magnitude - (std::uint32_t{127 - 15} << 23) + 0xfffu + is_odd) >> 13;
  }
  return static_cast<std::uint16_t>((bits >> 16 & 0x8000u) | half);
}

[[gnu::always_inline]] constexpr float bf16_to_f32(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

// Rounds to nearest, ties to even; NaN stays a (quiet) NaN.
[[gnu::always_inline]] constexpr std::uint16_t f32_to_bf16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  }
  return static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

}  // namespace zllm::encoding
