#include <zllm/sampling/random.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

namespace zllm::sampling {
namespace {

// The known answers that the authors publish with their code.
TEST(Random, PhiloxKnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (PhiloxCounter{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
  constexpr std::uint32_t kOnes = 0xffffffffu;
  EXPECT_EQ(philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (PhiloxCounter{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}));
  EXPECT_EQ(
      philox({0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}, {0xa4093822u, 0x299f31d0u}),
      (PhiloxCounter{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}));
}

TEST(Random, EveryArgumentAndBothHalvesMatter) {
  std::set<double> seen;
  const std::uint64_t large = std::uint64_t{1} << 40;
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, large}) {
    for (const std::uint64_t choice : {std::uint64_t{0}, std::uint64_t{1}, large}) {
      for (const std::uint64_t position : {std::uint64_t{0}, std::uint64_t{1}, large}) {
        const auto pair = uniforms(seed, {choice, position});
        seen.insert(pair[0]);
        seen.insert(pair[1]);
        EXPECT_EQ(pair, uniforms(seed, {choice, position}));
      }
    }
  }
  EXPECT_EQ(seen.size(), 54u);
}

// Chi-square over 16 cells with 15 degrees of freedom: 37.7 is the 0.1 % point; seeds are fixed.
TEST(Random, UniformAlongPositionsChoicesAndSeeds) {
  constexpr int kDraws = 16000;
  for (int axis = 0; axis < 3; ++axis) {
    std::vector<int> cells(16, 0);
    double product = 0.0;
    for (std::uint64_t i = 0; i < kDraws; ++i) {
      const auto pair = axis == 0   ? uniforms(42, {0, i})
                        : axis == 1 ? uniforms(42, {i, 7})
                                    : uniforms(i, {0, 7});
      ASSERT_GE(pair[0], 0.0);
      ASSERT_LT(pair[0], 1.0);
      ++cells[static_cast<std::size_t>(pair[0] * 16.0)];
      product += (pair[0] - 0.5) * (pair[1] - 0.5);
    }
    double chi_square = 0.0;
    for (const int count : cells) {
      chi_square += std::pow(count - kDraws / 16.0, 2.0) / (kDraws / 16.0);
    }
    EXPECT_LT(chi_square, 37.7) << axis;
    EXPECT_LT(std::abs(product / kDraws), 4.0 / 12.0 / std::sqrt(kDraws)) << axis;
  }
}

TEST(Random, FiftyThreeBits) {
  bool odd = false;
  for (std::uint64_t position = 0; position < 64; ++position) {
    const double scaled = uniforms(3, {0, position})[0] * 0x1p53;
    EXPECT_EQ(scaled, std::floor(scaled));
    odd = odd || std::fmod(scaled, 2.0) == 1.0;
  }
  EXPECT_TRUE(odd);
}

}  // namespace
}  // namespace zllm::sampling
