#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <zllm/kernel/cpu/dispatch/product_fixture-inl.h>

namespace zllm::kernel::cpu {
namespace {

TEST(Quantize, IsTheSameOnEveryInstructionSet) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> input(kActivationBlock * 40);
  for (std::size_t i = 0; i < input.size(); ++i) {
    const int exponent = static_cast<int>(i / kActivationBlock) * 8 - 160;
    input[i] = std::ldexp(normal(random), exponent);
  }
  const auto expected = quantize(Isa::scalar, input);
  for (const Isa isa : present()) {
    const auto blocks = quantize(isa, input);
    EXPECT_EQ(std::memcmp(blocks.data(), expected.data(), blocks.size() * sizeof(blocks[0])), 0)
        << name(isa);
  }
}

TEST(Quantize, KeepsEveryValueWithinHalfAStep) {
  std::mt19937 random(8);
  std::normal_distribution<float> normal;
  std::vector<float> input(kActivationBlock * 9);
  for (float& value : input) {
    value = normal(random);
  }
  for (const Isa isa : present()) {
    const auto blocks = quantize(isa, input);
    for (std::size_t i = 0; i < input.size(); ++i) {
      const ActivationBlock& block = blocks[i / kActivationBlock];
      const float value = block.scale * static_cast<float>(block.codes[i % kActivationBlock]);
      EXPECT_NEAR(value, input[i], block.scale * 0.50001F);
    }
  }
}

TEST(Quantize, ShowsWhatIsNotFinite) {
  for (const Isa isa : present()) {
    for (const float bad : {std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity(), std::nanf("")}) {
      for (const std::size_t position : {0U, 15U, 31U}) {
        std::vector<float> input(2 * kActivationBlock, 1.0F);
        input[position] = bad;
        const auto blocks = quantize(isa, input);
        EXPECT_TRUE(std::isnan(blocks[0].scale)) << name(isa);
        EXPECT_TRUE(std::isnan(blocks[0].scaled_sum)) << name(isa);
        EXPECT_EQ(blocks[1].codes[0], 127) << name(isa);
      }
    }
  }
}

TEST(Isa, CapIsHonoured) {
  const CpuFeatures all = {.avx2 = true, .avx512 = true};
  EXPECT_EQ(best_isa(all), Isa::avx512);
  EXPECT_EQ(best_isa(all, Isa::avx2), Isa::avx2);
  EXPECT_EQ(best_isa(all, Isa::scalar), Isa::scalar);
  EXPECT_EQ(best_isa({}, Isa::avx512), Isa::scalar);
  EXPECT_EQ(isa_named(name(Isa::avx2)), Isa::avx2);
  EXPECT_EQ(isa_named("avx3"), std::nullopt);
}

}  // namespace
}  // namespace zllm::kernel::cpu
