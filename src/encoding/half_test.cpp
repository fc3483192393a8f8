#include <zllm/encoding/half.h>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace zllm::encoding {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

// The definition, in double: sign, exponent with bias 15, ten bits of mantissa.
double value_of_f16(std::uint32_t half) {
  const int exponent = static_cast<int>(half >> 10 & 31);
  const double mantissa = static_cast<double>(half & 1023);
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

TEST(F16, EveryPatternHasItsValueAndComesBack) {
  for (std::uint32_t pattern = 0; pattern < 0x10000; ++pattern) {
    const auto half = static_cast<std::uint16_t>(pattern);
    const float value = f16_to_f32(half);
    ASSERT_EQ(std::signbit(value), (pattern & 0x8000) != 0) << pattern;
    if ((pattern & 0x7fff) > 0x7c00) {
      ASSERT_TRUE(std::isnan(value)) << pattern;
      ASSERT_EQ(f32_to_f16(value), pattern | 0x200) << pattern;
    } else {
      if ((pattern & 0x7fff) == 0x7c00) {
        ASSERT_TRUE(std::isinf(value)) << pattern;
      } else {
        ASSERT_EQ(value, value_of_f16(pattern)) << pattern;
      }
      ASSERT_EQ(f32_to_f16(value), pattern) << pattern;
    }
  }
}

TEST(F16, BetweenTwoNeighboursTheNearerWinsAndTheTieGoesToEven) {
  for (std::uint32_t pattern = 0; pattern < 0x7bff; ++pattern) {
    const float below = f16_to_f32(static_cast<std::uint16_t>(pattern));
    const float above = f16_to_f32(static_cast<std::uint16_t>(pattern + 1));
    const float middle = (below + above) / 2;
    ASSERT_EQ(f32_to_f16(middle), (pattern + 1) & ~1u) << pattern;
    ASSERT_EQ(f32_to_f16(-middle), ((pattern + 1) & ~1u) | 0x8000u) << pattern;
    ASSERT_EQ(f32_to_f16(std::nextafter(middle, 0.0f)), pattern) << pattern;
    ASSERT_EQ(f32_to_f16(std::nextafter(middle, kInfinity)), pattern + 1) << pattern;
  }
}

TEST(F16, TooLargeIsInfiniteAndTooSmallIsZero) {
  EXPECT_EQ(f32_to_f16(std::nextafter(65520.0f, 0.0f)), 0x7bff);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);
  EXPECT_EQ(f32_to_f16(std::numeric_limits<float>::max()), 0x7c00);
  EXPECT_EQ(f32_to_f16(-kInfinity), 0xfc00);
  EXPECT_EQ(f32_to_f16(0x1p-25f), 0);
  EXPECT_EQ(f32_to_f16(-std::numeric_limits<float>::denorm_min()), 0x8000);
}

TEST(Bf16, EveryPatternIsTheUpperHalfAndComesBack) {
  for (std::uint32_t pattern = 0; pattern < 0x10000; ++pattern) {
    const float value = bf16_to_f32(static_cast<std::uint16_t>(pattern));
    ASSERT_EQ(bits_of(value), pattern << 16);
    const bool is_nan = (pattern & 0x7fff) > 0x7f80;
    ASSERT_EQ(f32_to_bf16(value), is_nan ? pattern | 0x40 : pattern) << pattern;
  }
}

TEST(Bf16, BetweenTwoNeighboursTheNearerWinsAndTheTieGoesToEven) {
  // The neighbour above the largest number is the infinity.
  for (std::uint32_t pattern = 0; pattern < 0x7f80; ++pattern) {
    const std::uint32_t middle = pattern << 16 | 0x8000;
    ASSERT_EQ(f32_to_bf16(std::bit_cast<float>(middle)), (pattern + 1) & ~1u) << pattern;
    ASSERT_EQ(f32_to_bf16(std::bit_cast<float>(middle - 1)), pattern) << pattern;
    ASSERT_EQ(f32_to_bf16(std::bit_cast<float>(middle + 1)), pattern + 1) << pattern;
    ASSERT_EQ(f32_to_bf16(std::bit_cast<float>(middle | 0x80000000u)),
              ((pattern + 1) & ~1u) | 0x8000u);
  }
}

TEST(Bf16, NanWithALowPayloadStaysNan) {
  EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(std::bit_cast<float>(0x7f800001u)))));
  EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(std::bit_cast<float>(0xff800001u)))));
}

}  // namespace
}  // namespace zllm::encoding
