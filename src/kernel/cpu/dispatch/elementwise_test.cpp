#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <zllm/base/cpu_features.h>
#include <zllm/kernel/cpu/dispatch/elementwise_dispatch.h>

namespace zllm::kernel::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const std::vector<std::size_t> kWidths = {1, 3, 4, 15, 16, 17, 33, 64, 65, 257, 576, 1000};

// Every table that this processor can run.
std::vector<const ElementwiseKernels *> present() {
  std::vector<const ElementwiseKernels *> all;
  for (const Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512}) {
    if (best_isa(cpu_features(), isa) == isa) {
      all.push_back(&elementwise_kernels(isa));
    }
  }
  return all;
}

std::vector<float> noise(std::size_t count, unsigned seed, float size = 1.0F) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.3F, size);
  std::vector<float> values(count);
  std::generate(values.begin(), values.end(), [&] { return normal(random); });
  return values;
}

// Distance in units of the last place of the nearest float.
double ulps(float value, double exact) {
  const float nearest = static_cast<float>(exact);
  const double step = std::nextafter(std::abs(nearest), kInfinity) - std::abs(nearest);
  return std::abs(value - exact) / step;
}

TEST(RmsNorm, AgreesWithinAFewUlp) {
  for (const ElementwiseKernels *kernels : present()) {
    for (const std::size_t columns : kWidths) {
      const std::size_t stride = 2 * columns + 5;
      auto rows = noise(3 * stride, 1);
      const auto input = rows;
      const auto weight = noise(columns, 2);
      kernels->rms_norm({.input = rows.data(),
                         .output = rows.data(),
                         .input_row_stride = stride,
                         .output_row_stride = stride,
                         .rows = 3,
                         .groups = 2,
                         .columns = columns,
                         .weight = weight.data(),
                         .epsilon = 1e-5F});
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::size_t within = i % stride;
        if (within >= 2 * columns) {
          EXPECT_EQ(rows[i], input[i]) << "between the rows";
          continue;
        }
        const std::size_t start = i - within % columns;
        double squares = 0;
        for (std::size_t j = 0; j < columns; ++j) {
          squares += static_cast<double>(input[start + j]) * input[start + j];
        }
        const double scale =
            1 / std::sqrt(squares / static_cast<double>(columns) + static_cast<double>(1e-5F));
        EXPECT_LE(ulps(rows[i], input[i] * scale * weight[i - start]), 6) << columns;
      }
    }
  }
}

TEST(LayerNorm, AgreesWithTheDefinition) {
  for (const ElementwiseKernels *kernels : present()) {
    for (const std::size_t columns : kWidths) {
      const auto input = noise(columns, 3);
      const auto weight = noise(columns, 4);
      const auto bias = noise(columns, 5);
      std::vector<float> output(columns);
      kernels->layer_norm({.input = input.data(),
                           .output = output.data(),
                           .rows = 1,
                           .columns = columns,
                           .weight = weight.data(),
                           .bias = bias.data(),
                           .epsilon = 1e-6F});
      double mean = 0;
      for (const float value : input) {
        mean += value / static_cast<double>(columns);
      }
      double variance = 0;
      for (const float value : input) {
        variance += (value - mean) * (value - mean) / static_cast<double>(columns);
      }
      for (std::size_t i = 0; i < columns; ++i) {
        const double exact =
            (input[i] - mean) / std::sqrt(variance + static_cast<double>(1e-6F)) * weight[i] +
            bias[i];
        // A single column has only rounding left of x - mean.
        EXPECT_NEAR(output[i], exact, columns == 1 ? 1e-4 : 5e-6) << columns;
      }
    }
  }
}

TEST(Swiglu, IsAccurateOverTheWholeRange) {
  std::vector<float> gate;
  for (int i = -4000; i <= 4000; ++i) {
    gate.push_back(static_cast<float>(i) * 0.02503F);
  }
  const std::vector<float> up(gate.size(), 1.0F);
  for (const ElementwiseKernels *kernels : present()) {
    std::vector<float> output(gate.size());
    kernels->swiglu({.left = gate.data(),
                     .right = up.data(),
                     .output = output.data(),
                     .rows = 1,
                     .columns = gate.size()});
    for (std::size_t i = 0; i < gate.size(); ++i) {
      const double g = gate[i];
      // Below -85 the exponential overflows towards a result of 0; its true size is under 1e-35.
      if (g > -85) {
        EXPECT_LE(ulps(output[i], g / (1 + std::exp(-g))), 4) << g;
      } else {
        EXPECT_NEAR(output[i], 0.0F, 1e-34F) << g;
      }
    }
  }
}

TEST(Softcap, IsAccurateNearZeroAndFarOut) {
  for (const ElementwiseKernels *kernels : present()) {
    for (const float cap : {1.0F, 30.0F, 50.0F}) {
      auto values = noise(1003, 6, 2 * cap);
      values[0] = 1e-6F;
      values[1] = -1e-20F;
      values[2] = kInfinity;
      values[3] = -kInfinity;
      values[4] = 0.624F * cap;
      values[5] = -0.626F * cap;
      std::vector<float> output(values.size());
      kernels->softcap({.input = values.data(),
                        .output = output.data(),
                        .rows = 1,
                        .columns = values.size(),
                        .factor = cap});
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double c = cap;
        EXPECT_LE(ulps(output[i], c * std::tanh(values[i] / c)), 4) << values[i];
      }
    }
  }
}

TEST(Rope, TurnsPairsAndLeavesTheRest) {
  constexpr std::size_t kRows = 3;
  constexpr std::size_t kHeads = 2;
  for (const ElementwiseKernels *kernels : present()) {
    for (const RopePairing pairing : {RopePairing::half, RopePairing::adjacent}) {
      for (const std::size_t rotated : {2U, 6U, 16U, 24U, 64U, 128U}) {
        const std::size_t head = rotated + (rotated == 24U ? 8 : 0);
        const std::size_t pairs = rotated / 2;
        const std::size_t stride = kHeads * head + 3;
        auto heads = noise(kRows * stride, 7);
        const auto input = heads;
        const auto cosines = noise(kRows * pairs, 8);
        const auto sines = noise(kRows * pairs, 9);
        kernels->rope({.heads = heads.data(),
                       .row_stride = stride,
                       .rows = kRows,
                       .head_count = kHeads,
                       .head = head,
                       .rotated = rotated,
                       .cosines = cosines.data(),
                       .sines = sines.data(),
                       .pairing = pairing});
        auto expected = input;
        for (std::size_t i = 0; i < kRows * kHeads * pairs; ++i) {
          const std::size_t row = i / (kHeads * pairs);
          const std::size_t pair = i % pairs;
          const std::size_t start = row * stride + i / pairs % kHeads * head;
          const bool half = pairing == RopePairing::half;
          const std::size_t a = start + (half ? pair : 2 * pair);
          const std::size_t b = start + (half ? pair + pairs : 2 * pair + 1);
          const double c = cosines[row * pairs + pair];
          const double s = sines[row * pairs + pair];
          expected[a] = static_cast<float>(input[a] * c - input[b] * s);
          expected[b] = static_cast<float>(input[b] * c + input[a] * s);
        }
        for (std::size_t i = 0; i < heads.size(); ++i) {
          EXPECT_NEAR(heads[i], expected[i], 2e-6) << rotated << " at " << i;
        }
      }
    }
  }
}

TEST(RowArithmetic, AddsBroadcastsAndScales) {
  for (const ElementwiseKernels *kernels : present()) {
    for (const std::size_t columns : kWidths) {
      const auto left = noise(2 * columns, 10);
      const auto bias = noise(columns, 11);
      std::vector<float> output(2 * columns);
      kernels->add({.left = left.data(),
                    .right = bias.data(),
                    .output = output.data(),
                    .left_row_stride = columns,
                    .right_row_stride = 0,
                    .output_row_stride = columns,
                    .rows = 2,
                    .columns = columns});
      for (std::size_t i = 0; i < output.size(); ++i) {
        EXPECT_EQ(output[i], left[i] + bias[i % columns]);
      }
      kernels->scale({.input = output.data(),
                      .output = output.data(),
                      .rows = 1,
                      .columns = columns,
                      .factor = 3.5F});
      EXPECT_EQ(output[columns - 1], (left[columns - 1] + bias[columns - 1]) * 3.5F);
      EXPECT_EQ(output[columns], left[columns] + bias[0]) << "the next row";
    }
  }
}

TEST(WeightedSum, AddsTermsInTheirOrder) {
  for (const ElementwiseKernels *kernels : present()) {
    for (const std::size_t columns : kWidths) {
      const std::size_t stride = columns + 3;
      const auto terms = noise(5 * stride, 12);
      const std::vector<std::uint32_t> places = {3, 0, 4};
      const std::vector<float> weights = {0.5F, -3.0F, 1e-3F};
      const auto before = noise(columns + 1, 13);
      for (const bool accumulate : {false, true}) {
        auto output = before;
        kernels->weighted_sum({.terms = terms.data(),
                               .term_stride = stride,
                               .places = places.data(),
                               .weights = weights.data(),
                               .count = places.size(),
                               .output = output.data(),
                               .columns = columns,
                               .accumulate = accumulate});
        for (std::size_t i = 0; i < columns; ++i) {
          float sum = 0.0F;
          for (std::size_t k = 0; k < places.size(); ++k) {
            sum += weights[k] * terms[places[k] * stride + i];
          }
          EXPECT_EQ(output[i], accumulate ? before[i] + sum : sum);
        }
        EXPECT_EQ(output[columns], before[columns]) << "behind the row";
      }
    }
  }
}

TEST(LargestElement, TakesTheLowestIndexAndReportsNan) {
  for (const ElementwiseKernels *kernels : present()) {
    for (const std::size_t count : kWidths) {
      std::vector<float> values(count, -2.0F);
      const auto find = [&] { return kernels->largest_element(values.data(), count); };
      EXPECT_EQ(find().index, 0U);
      values[count - 1] = -1.0F;
      EXPECT_EQ(find().index, count - 1);
      values[count / 2] = -1.0F;
      EXPECT_EQ(find().index, count / 2);
      EXPECT_FALSE(find().has_nan);
      values[0] = -kInfinity;
      EXPECT_FALSE(find().has_nan);
      values[count / 3] = kInfinity;
      EXPECT_EQ(find().index, count / 3);
      EXPECT_FALSE(find().has_nan);
      values[count - 1] = std::nanf("");
      EXPECT_TRUE(find().has_nan) << count;
      std::fill(values.begin(), values.end(), -kInfinity);
      EXPECT_EQ(find().index, 0U);
    }
  }
}

TEST(HasNonfinite, FindsOneAnywhere) {
  for (const ElementwiseKernels *kernels : present()) {
    for (const std::size_t count : kWidths) {
      std::vector<float> values(count, -3e38F);
      EXPECT_FALSE(kernels->has_nonfinite(values.data(), count));
      for (const float bad : {kInfinity, -kInfinity, std::nanf("")}) {
        for (const std::size_t at : {std::size_t{0}, count / 2, count - 1}) {
          values[at] = bad;
          EXPECT_TRUE(kernels->has_nonfinite(values.data(), count)) << count << " at " << at;
          values[at] = 1.0F;
        }
      }
    }
  }
}

TEST(Halves, AllPatternsSurviveWideningAndNarrowing) {
  std::vector<std::uint16_t> halves(65537);
  for (std::size_t i = 0; i < halves.size(); ++i) {
    halves[i] = static_cast<std::uint16_t>(i);
  }
  for (const ElementwiseKernels *kernels : present()) {
    std::vector<float> values(halves.size());
    kernels->widen_halves(halves.data(), halves.size(), values.data());
    std::vector<std::uint16_t> back(halves.size());
    kernels->narrow_to_halves(values.data(), values.size(), back.data());
    for (std::size_t i = 0; i < halves.size(); ++i) {
      const int exponent = halves[i] >> 10 & 31;
      const int fraction = halves[i] & 1023;
      if (exponent == 31 && fraction != 0) {
        EXPECT_TRUE(std::isnan(values[i]));
        EXPECT_GT(back[i] & 0x7FFF, 0x7C00);
        continue;
      }
      const float size = exponent == 31 ? kInfinity
                         : exponent == 0
                             ? std::ldexp(static_cast<float>(fraction), -24)
                             : std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
      const float expected = (halves[i] & 0x8000) != 0 ? -size : size;
      EXPECT_EQ(std::bit_cast<std::uint32_t>(values[i]), std::bit_cast<std::uint32_t>(expected));
      EXPECT_EQ(back[i], halves[i]);
    }
  }
}

}  // namespace
}  // namespace zllm::kernel::cpu
