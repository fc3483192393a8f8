#include <zllm/residual/hyper_connection.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace zllm::residual {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Parts {
  std::vector<float> input;
  std::vector<float> after;
  std::vector<float> combine;

  bool operator==(const Parts&) const = default;
};

struct Site {
  HyperConnectionSpec spec;
  std::size_t width = 1;
  std::vector<float> mixing =
      std::vector<float>(std::size_t{mix_width(spec)} * spec.streams * width, 0.0f);
  std::vector<float> base = std::vector<float>(mix_width(spec), 0.0f);
  std::vector<float> scale{1.0f, 1.0f, 1.0f};

  Parts split(std::span<const float> streams) const {
    const std::size_t n = spec.streams;
    const std::size_t rows = streams.size() / (n * width);
    Parts parts{std::vector<float>(rows * width), std::vector<float>(rows * n),
                std::vector<float>(rows * n * n)};
    residual::split(spec, {mixing, base, scale}, streams, width, parts.input, parts.after,
                    parts.combine);
    return parts;
  }
};

void expect_near(const std::vector<float>& got, const std::vector<float>& expected,
                 float bound = 1e-6f) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i], expected[i], bound * std::max(1.0f, std::abs(expected[i]))) << i;
  }
}

std::vector<float> fractions(std::size_t count, std::size_t factor, std::size_t offset,
                             float scale) {
  std::vector<float> result(count);
  for (std::size_t i = 0; i < count; ++i) {
    result[i] = scale * (static_cast<float>((i * factor + offset) % 13) - 6.0f) / 8.0f;
  }
  return result;
}

const float kLn3 = std::log(3.0f);

// before [1/2, 3/4], after [1, 1/2], rows of the softmax [1/4, 3/4] and [1/2, 1/2].
Site by_hand(std::uint32_t iterations, double epsilon) {
  Site site{.spec = {.streams = 2, .iterations = iterations, .epsilon = epsilon}};
  site.base = {0, kLn3, 0, -kLn3, 0, kLn3, 5, 5};
  return site;
}

TEST(HyperConnection, FirstIterationDividesColumnsAlone) {
  const auto parts = by_hand(1, 0.0).split(std::vector<float>{3, 8});
  expect_near(parts.input, {7.5f});
  expect_near(parts.after, {1.0f, 0.5f});
  expect_near(parts.combine, {1.0f / 3, 0.6f, 2.0f / 3, 0.4f});
}

TEST(HyperConnection, FurtherIterationsDivideRowsThenColumns) {
  const auto parts = by_hand(2, 0.0).split(std::vector<float>{3, 8});
  // rows by 14/15 and 16/15: [5/14, 9/14], [5/8, 3/8]; columns by 55/56 and 57/56
  expect_near(parts.combine, {20.0f / 55, 36.0f / 57, 35.0f / 55, 21.0f / 57});
}

TEST(HyperConnection, EpsilonIsAddedToBeforeToCombineAndToEverySum) {
  const auto parts = by_hand(1, 0.5).split(std::vector<float>{3, 8});
  expect_near(parts.input, {3.0f * 1.0f + 8.0f * 1.25f});
  expect_near(parts.after, {1.0f, 0.5f});
  expect_near(parts.combine, {1.0f / 3, 5.0f / 11, 4.0f / 9, 4.0f / 11});
  const auto twice = by_hand(2, 0.5).split(std::vector<float>{3, 8});
  const double c00 = 1.0 / 3 / (1.0 / 3 + 5.0 / 11 + 0.5);
  const double c10 = 4.0 / 9 / (4.0 / 9 + 4.0 / 11 + 0.5);
  EXPECT_NEAR(twice.combine[0], c00 / (c00 + c10 + 0.5), 1e-6);
}

TEST(HyperConnection, CombineIsReadTransposed) {
  const Site site = by_hand(1, 0.0);
  std::vector<float> streams{3, 8};
  const auto parts = site.split(streams);
  merge(site.spec, std::vector<float>{10}, parts.after, parts.combine, 1, streams);
  // 10 + 3/3 + 8*2/3, where C itself would give 10 + 3/3 + 8*0.6
  expect_near(streams, {10.0f + 1.0f + 16.0f / 3, 5.0f + 0.6f * 3 + 0.4f * 8});
}

TEST(HyperConnection, LogitsAreOfTheNormedStreamsTogetherScaledByPart) {
  Site site{.spec = {.streams = 2, .iterations = 1, .norm_epsilon = 12.5, .epsilon = 0.0}};
  // mean of squares 12.5, with the epsilon 25: f = [0.6, 0.8]
  std::fill(site.mixing.begin(), site.mixing.end(), 5.0f);
  site.mixing[2 * 4] = 10.0f;  // C[0, 0] alone: m = 10 and the others 7
  site.scale = {kLn3 / 7.0f, -kLn3 / 7.0f, kLn3 / 3.0f};
  const auto parts = site.split(std::vector<float>{3, 4});
  expect_near(parts.input, {0.75f * 7.0f});
  expect_near(parts.after, {0.5f, 0.5f});
  // rows [3/4, 1/4] and [1/2, 1/2]
  expect_near(parts.combine, {0.6f, 1.0f / 3, 0.4f, 2.0f / 3});
}

// Expected values: tools/oracle/recurrent_values.py.
TEST(HyperConnection, ThreeStreamsOfTwo) {
  Site site{.spec = {.streams = 3, .iterations = 4}, .width = 2};
  site.mixing = fractions(15 * 6, 7, 2, 1.0f);
  site.base = fractions(15, 3, 4, 1.0f);
  site.scale = {0.5f, -0.75f, 1.25f};
  std::vector<float> streams = fractions(6, 5, 1, 4.0f);
  const auto parts = site.split(streams);
  expect_near(parts.input, {1.81649962971f, -3.29480855473f}, 2e-7f);
  expect_near(parts.after, {0.778738244521f, 1.20203538744f, 0.740645990808f}, 2e-7f);
  expect_near(
      parts.combine,
      {0.944636327772f, 0.197950455421f, 0.00341590347322f, 0.040488940572f, 0.764082863792f,
       0.182029186641f, 0.0148735520935f, 0.0379656665894f, 0.81455405242f},
      2e-7f);
  merge(site.spec, fractions(2, 2, 9, 1.0f), parts.after, parts.combine, 2, streams);
  expect_near(streams,
              {-1.95346807421f, 0.381357335687f, 1.90405995781f, -0.508749178303f, 1.53882950689f,
               -2.25380219297f},
              5e-7f);
}

TEST(HyperConnection, CombineIsDoublyStochasticAndAfterAtMostTwo) {
  for (const float height : {0.1f, 2.0f, 6.0f}) {
    Site site{.spec = {.streams = 4, .iterations = 20}, .width = 3};
    site.mixing = fractions(site.mixing.size(), 5, 3, height);
    site.base = fractions(site.base.size(), 4, 7, 1.0f);
    const auto parts = site.split(fractions(12 * 5, 3, 1, 10.0f));
    for (std::size_t row = 0; row < 5; ++row) {
      for (std::size_t i = 0; i < 4; ++i) {
        float column_sum = 0.0f;
        for (std::size_t j = 0; j < 4; ++j) {
          EXPECT_GE(parts.combine[(row * 4 + j) * 4 + i], 0.0f);
          column_sum += parts.combine[(row * 4 + j) * 4 + i];
        }
        EXPECT_NEAR(column_sum, 1.0f, 3e-6f);
        EXPECT_GE(parts.after[row * 4 + i], 0.0f);
        EXPECT_LE(parts.after[row * 4 + i], 2.0f);
      }
    }
  }
}

TEST(HyperConnection, EnoughIterationsMakeRowsSumToOneToo) {
  Site site{.spec = {.streams = 4, .iterations = 60}};
  site.base = fractions(site.base.size(), 4, 7, 2.0f);
  const auto parts = site.split(std::vector<float>{1, 2, 3, 4});
  for (std::size_t row = 0; row < 4; ++row) {
    float sum = 0.0f;
    for (std::size_t i = 0; i < 4; ++i) {
      sum += parts.combine[row * 4 + i];
    }
    EXPECT_NEAR(sum, 1.0f, 1e-5f);
  }
}

TEST(HyperConnection, HugeLogitsSaturate) {
  Site site{.spec = {.streams = 2, .iterations = 3}};
  site.base = {1e30f, -1e30f, 1e30f, -1e30f, 1e30f, -1e30f, -1e30f, 1e30f};
  const auto parts = site.split(std::vector<float>{3, 8});
  expect_near(parts.input, {3.0f}, 1e-5f);
  EXPECT_THAT(parts.after, ElementsAre(2.0f, 0.0f));
  expect_near(parts.combine, {1, 0, 0, 1}, 1e-5f);
}

TEST(HyperConnection, DiagonalCombineWithoutAfterKeepsTheStreams) {
  Site site{.spec = {.streams = 3, .iterations = 5}, .width = 2};
  site.base = {0, 0, 0, -1000, -1000, -1000, 60, 0, 0, 0, 60, 0, 0, 0, 60};
  const std::vector<float> before{1, -2, 3, 4, 5, -6};
  std::vector<float> streams = before;
  const auto parts = site.split(streams);
  merge(site.spec, std::vector<float>{1e6f, 1e6f}, parts.after, parts.combine, 2, streams);
  expect_near(streams, before, 2e-5f);
}

TEST(HyperConnection, OneStreamIsAnOrdinaryResidual) {
  Site site{.spec = {.streams = 1, .iterations = 2}, .width = 2};
  site.base = {kLn3, 0, -7};
  std::vector<float> streams{4, -8};
  const auto parts = site.split(streams);
  expect_near(parts.input, {3.0f, -6.0f}, 2e-6f);
  expect_near(parts.after, {1.0f});
  expect_near(parts.combine, {1.0f}, 2e-6f);
  merge(site.spec, std::vector<float>{10, 20}, parts.after, parts.combine, 2, streams);
  expect_near(streams, {14.0f, 12.0f}, 4e-6f);
}

TEST(HyperConnection, RowsDoNotKnowOneAnother) {
  Site site{.spec = {.streams = 3, .iterations = 4}, .width = 2};
  site.mixing = fractions(site.mixing.size(), 7, 2, 1.0f);
  site.base = fractions(site.base.size(), 3, 4, 1.0f);
  std::vector<float> streams = fractions(5 * 6, 5, 1, 4.0f);
  const std::vector<float> sublayer = fractions(5 * 2, 2, 9, 3.0f);
  const auto whole = site.split(streams);
  std::vector<float> alone = streams;
  merge(site.spec, sublayer, whole.after, whole.combine, 2, streams);
  Parts joined;
  for (std::size_t row = 0; row < 5; ++row) {
    const auto own = std::span(alone).subspan(row * 6, 6);
    const auto parts = site.split(own);
    joined.input.insert(joined.input.end(), parts.input.begin(), parts.input.end());
    joined.after.insert(joined.after.end(), parts.after.begin(), parts.after.end());
    joined.combine.insert(joined.combine.end(), parts.combine.begin(), parts.combine.end());
    merge(site.spec, std::span(sublayer).subspan(row * 2, 2), parts.after, parts.combine, 2, own);
  }
  EXPECT_EQ(joined, whole);
  EXPECT_EQ(alone, streams);
}

TEST(HyperConnection, NanStaysWithinItsRow) {
  Site site{.spec = {.streams = 2, .iterations = 2}};
  site.mixing = fractions(site.mixing.size(), 7, 2, 1.0f);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto parts = site.split(std::vector<float>{nan, 1, 2, 3});
  EXPECT_TRUE(std::isnan(parts.input[0]));
  EXPECT_TRUE(std::isnan(parts.combine[0]));
  EXPECT_FALSE(std::isnan(parts.input[1]));
  EXPECT_FALSE(std::isnan(parts.combine[4]));
}

TEST(HyperConnection, ExpandCopiesAndCollapseTakesTheMean) {
  std::vector<float> streams(12);
  expand(std::vector<float>{1, 2, 3, 4}, 2, 3, streams);
  EXPECT_THAT(streams, ElementsAre(1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4));
  std::vector<float> rows(4);
  collapse(streams, 2, 3, rows);
  EXPECT_THAT(rows, ElementsAre(1, 2, 3, 4));
  collapse(std::vector<float>{1, 2, 4, 6, 7, 10, -1, 0, 0, 0, 4, 3}, 2, 3, rows);
  EXPECT_THAT(rows, ElementsAre(4, 6, 1, 1));
  std::vector<float> same(4);
  expand(rows, 2, 1, same);
  EXPECT_EQ(same, rows);
  collapse(rows, 2, 1, same);
  EXPECT_EQ(same, rows);
  expand({}, 2, 3, {});
  collapse({}, 2, 3, {});
}

TEST(HyperConnection, SpecsAreRefusedByName) {
  const auto refusal = [](HyperConnectionSpec spec) {
    const Status status = validate(spec);
    return status.ok() ? std::string() : status.error().message;
  };
  EXPECT_EQ(refusal({.streams = 4, .iterations = 20}), "");
  EXPECT_EQ(refusal({.streams = 1, .iterations = 1, .epsilon = 0.0}), "");
  EXPECT_THAT(refusal({.streams = 0, .iterations = 1}), HasSubstr("streams"));
  EXPECT_EQ(refusal({.streams = 65535, .iterations = 1}), "");
  EXPECT_THAT(refusal({.streams = 65536, .iterations = 1}), HasSubstr("streams"));
  EXPECT_THAT(refusal({.streams = 4, .iterations = 0}), HasSubstr("iterations"));
  EXPECT_THAT(refusal({.streams = 4, .iterations = 1, .norm_epsilon = 0.0}),
              HasSubstr("norm_epsilon"));
  EXPECT_THAT(refusal({.streams = 4, .iterations = 1, .epsilon = -1e-6}), HasSubstr(" epsilon"));
  EXPECT_THAT(
      refusal({.streams = 4, .iterations = 1, .epsilon = std::numeric_limits<double>::quiet_NaN()}),
      HasSubstr(" epsilon"));
}

}  // namespace
}  // namespace zllm::residual
