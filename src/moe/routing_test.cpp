#include <zllm/moe/routing.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace zllm::moe {
namespace {

using testing::ElementsAre;
using testing::FloatEq;
using testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
const float kLn2 = std::log(2.0f);
const float kLn3 = std::log(3.0f);

Routing routed(const RouterSpec& spec, const std::vector<float>& logits,
               const std::vector<float>& bias = {}) {
  auto result = route(spec, logits, bias);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  return result.ok() ? *std::move(result) : Routing{};
}

TEST(Route, SoftmaxIsOverAllExpertsAndTheChosenShareTheirSum) {
  RouterSpec spec{.experts = 4, .top_k = 2};
  // scores 2/10, 1/10, 3/10, 4/10
  const std::vector<float> logits{kLn2, 0.0f, kLn3, 2 * kLn2};
  auto routing = routed(spec, logits);
  EXPECT_THAT(routing.experts, ElementsAre(2, 3));
  EXPECT_THAT(routing.weights, ElementsAre(FloatEq(3.0f / 7), FloatEq(4.0f / 7)));
  EXPECT_EQ(routing.rows(), 1u);
  spec.normalise = false;
  EXPECT_THAT(routed(spec, logits).weights, ElementsAre(FloatEq(0.3f), FloatEq(0.4f)));
  spec.scaling = 2.5f;
  EXPECT_THAT(routed(spec, logits).weights, ElementsAre(FloatEq(0.75f), FloatEq(1.0f)));
}

TEST(Route, ScalingComesAfterNormalisation) {
  const RouterSpec spec{.experts = 3, .top_k = 2, .scoring = Scoring::sigmoid, .scaling = 2.5f};
  // scores 1/2, 3/4, 1/4
  const auto routing = routed(spec, {0.0f, kLn3, -kLn3});
  EXPECT_THAT(routing.experts, ElementsAre(0, 1));
  EXPECT_THAT(routing.weights, ElementsAre(FloatEq(1.0f), FloatEq(1.5f)));
}

TEST(Route, BiasChoosesAndDoesNotWeigh) {
  RouterSpec spec{.experts = 3,
                  .top_k = 2,
                  .scoring = Scoring::sigmoid,
                  .has_selection_bias = true,
                  .normalise = false};
  const std::vector<float> logits{0.0f, kLn3, -kLn3};
  auto routing = routed(spec, logits, {0.0f, -0.6f, 0.0f});  // choices 0.5, 0.15, 0.25
  EXPECT_THAT(routing.experts, ElementsAre(0, 2));
  EXPECT_THAT(routing.weights, ElementsAre(FloatEq(0.5f), FloatEq(0.25f)));
  spec.normalise = true;
  routing = routed(spec, logits, {0.0f, -0.6f, 0.0f});
  EXPECT_THAT(routing.weights, ElementsAre(FloatEq(2.0f / 3), FloatEq(1.0f / 3)));
  spec.scoring = Scoring::softmax;  // scores 3/13, 9/13, 1/13
  routing = routed(spec, logits, {0.0f, -0.6f, 0.2f});
  EXPECT_THAT(routing.experts, ElementsAre(0, 2));
  EXPECT_THAT(routing.weights, ElementsAre(FloatEq(0.75f), FloatEq(0.25f)));
}

TEST(Route, EqualChoicesGoToTheLowerExpert) {
  for (const Scoring scoring : {Scoring::softmax, Scoring::sigmoid}) {
    const RouterSpec spec{.experts = 6, .top_k = 3, .scoring = scoring};
    EXPECT_THAT(routed(spec, {1, 1, 1, 1, 1, 1}).experts, ElementsAre(0, 1, 2));
    EXPECT_THAT(routed(spec, {0, 1, 0, 2, 1, 1}).experts, ElementsAre(1, 3, 4));
  }
}

TEST(Route, ExpertsAscendWhateverTheirWeights) {
  const RouterSpec spec{.experts = 5, .top_k = 5};
  const auto routing = routed(spec, {0, 4, 2, 3, 1, 5, 4, 3, 2, 1});
  EXPECT_THAT(routing.experts, ElementsAre(0, 1, 2, 3, 4, 0, 1, 2, 3, 4));
  EXPECT_EQ(routing.rows(), 2u);
  for (std::size_t row = 0; row < 2; ++row) {
    float sum = 0.0f;
    for (std::size_t k = 0; k < 5; ++k) {
      sum += routing.weights[row * 5 + k];
    }
    EXPECT_FLOAT_EQ(sum, 1.0f);
  }
  EXPECT_GT(routing.weights[1], routing.weights[3]);
  EXPECT_GT(routing.weights[5], routing.weights[6]);
}

RouterSpec grouped(std::uint32_t kept) {
  return {.experts = 6,
          .top_k = 2,
          .groups = 3,
          .kept_groups = kept,
          .scoring = Scoring::sigmoid,
          .has_selection_bias = true};
}

TEST(Route, AGroupIsWorthItsTwoBestChoices) {
  RouterSpec spec{.experts = 6,
                  .top_k = 1,
                  .groups = 2,
                  .kept_groups = 1,
                  .scoring = Scoring::sigmoid,
                  .has_selection_bias = true};
  // half from each sigmoid: 0.9 + 0.5 > 0.8 + 0.5, whatever the third is
  EXPECT_THAT(routed(spec, {0, 0, 0, 0, 0, 0}, {0.0f, 0.4f, -90, 0.3f, 0, 0}).experts,
              ElementsAre(1));
  // 0.7 + 0.7 beats 0.9 + 0.4: the best expert is in the group that loses
  EXPECT_THAT(routed(spec, {0, 0, 0, 0, 0, 0}, {-0.1f, 0.4f, -0.1f, 0.2f, -9, 0.2f}).experts,
              ElementsAre(3));
}

TEST(Route, MaskedGroupsLoseAgainstNegativeChoices) {
  // The kept group's choices are -0.5 and -8.5; a mask by zeros would choose expert 0 before them.
  EXPECT_THAT(routed(grouped(1), {0, 0, 0, 0, 0, 0}, {-6, -6, -1, -9, -6, -6}).experts,
              ElementsAre(2, 3));
  // The group of -2.5 and -19.5 is masked, so that -3.5 follows -0.5.
  EXPECT_THAT(routed(grouped(2), {0, 0, 0, 0, 0, 0}, {-4, -5, -9, -1, -3, -20}).experts,
              ElementsAre(0, 3));
}

TEST(Route, EqualGroupsGoToTheLower) {
  EXPECT_THAT(routed(grouped(1), {0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0}).experts,
              ElementsAre(0, 1));
  EXPECT_THAT(routed(grouped(1), {0, 0, 0, 0, 0, 0}, {0, 0, 0.25f, 0.75f, 0.5f, 0.5f}).experts,
              ElementsAre(2, 3));
}

TEST(Route, AGroupOfOneIsWorthItsExpert) {
  RouterSpec spec = grouped(2);
  spec.groups = 6;
  EXPECT_THAT(routed(spec, {0, 3, 0, 0, 2, 0}, {0, 0, 0, 0, 0, 0}).experts, ElementsAre(1, 4));
}

TEST(Route, KeepingAllGroupsIsHavingNone) {
  const std::vector<float> bias{0.1f, -0.3f, 0.2f, 0, -0.1f, 0.05f};
  std::vector<float> logits(60);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    logits[i] = std::sin(static_cast<float>(i) * 1.7f) * 3.0f;
  }
  RouterSpec none = grouped(1);
  none.groups = 1;
  const auto expected = routed(none, logits, bias);
  const auto all = routed(grouped(3), logits, bias);
  EXPECT_EQ(all.experts, expected.experts);
  EXPECT_EQ(all.weights, expected.weights);
  EXPECT_NE(routed(grouped(1), logits, bias).experts, expected.experts);
}

TEST(Route, TinySigmoidsBesideAHugeBiasStillOrder) {
  RouterSpec spec{.experts = 5,
                  .top_k = 3,
                  .scoring = Scoring::sigmoid,
                  .has_selection_bias = true,
                  .normalise = true};
  // an expert of a huge bias comes first and the others keep the order of their scores
  auto routing = routed(spec, {-80, -82, -81, -80, -79}, {0, 1e6f, 0, 0, 0});
  EXPECT_THAT(routing.experts, ElementsAre(0, 1, 4));
  // weights are of the unbiased scores, which are small even beside the epsilon of their sum
  EXPECT_THAT(routing.weights, ElementsAre(FloatEq(static_cast<float>(std::exp(-80.0) / 1e-20)),
                                           FloatEq(static_cast<float>(std::exp(-82.0) / 1e-20)),
                                           FloatEq(static_cast<float>(std::exp(-79.0) / 1e-20))));
  // a huge bias of all: 4.5e-5, 1.7e-5 and 1.2e-4 are lost beside it in f32, not in f64
  spec.top_k = 2;
  routing = routed(spec, {-11, -10, -11, -9, -12}, {1e6f, 1e6f, 1e6f, 1e6f, 1e6f});
  EXPECT_THAT(routing.experts, ElementsAre(1, 3));
  const double ten = 1.0 / (1.0 + std::exp(10.0));
  const double nine = 1.0 / (1.0 + std::exp(9.0));
  EXPECT_FLOAT_EQ(routing.weights[0], static_cast<float>(ten / (ten + nine)));
  EXPECT_FLOAT_EQ(routing.weights[1], static_cast<float>(nine / (ten + nine)));
  // 1.8e-35 and its like are lost beside it in f64 too, not in an exact sum
  routing = routed(spec, {-80, -79, -80, -78, -81}, {1e6f, 1e6f, 1e6f, 1e6f, 1e6f});
  EXPECT_THAT(routing.experts, ElementsAre(1, 3));
  // in groups likewise: {-80, -81} against {-81, -79}
  spec = {.experts = 4,
          .top_k = 1,
          .groups = 2,
          .kept_groups = 1,
          .scoring = Scoring::sigmoid,
          .has_selection_bias = true,
          .normalise = true};
  routing = routed(spec, {-80, -81, -81, -79}, {1e6f, 1e6f, 1e6f, 1e6f});
  EXPECT_THAT(routing.experts, ElementsAre(3));
}

TEST(Route, ScoresThatAreAllZeroDivideByTheEpsilon) {
  RouterSpec spec{.experts = 3, .top_k = 2, .scoring = Scoring::sigmoid};
  const auto routing = routed(spec, {-1e30f, -1e30f, -1e30f});
  EXPECT_THAT(routing.experts, ElementsAre(0, 1));
  EXPECT_THAT(routing.weights, ElementsAre(0.0f, 0.0f));
}

TEST(Route, HugeLogitsDoNotOverflowTheSoftmax) {
  const RouterSpec spec{.experts = 3, .top_k = 2};
  const auto routing = routed(spec, {3e38f, -3e38f, 3e38f});
  EXPECT_THAT(routing.experts, ElementsAre(0, 2));
  EXPECT_THAT(routing.weights, ElementsAre(0.5f, 0.5f));
}

TEST(Route, RowsDoNotKnowOneAnother) {
  const RouterSpec spec{.experts = 4, .top_k = 2};
  const std::vector<float> logits{0, 1, 2, 3, 3, 1, -2, 0.5f, 0, 0, 7, 1};
  const auto whole = routed(spec, logits);
  for (std::size_t row = 0; row < 3; ++row) {
    const auto begin = logits.begin() + static_cast<std::ptrdiff_t>(row * 4);
    const auto alone = routed(spec, std::vector<float>(begin, begin + 4));
    for (std::size_t k = 0; k < 2; ++k) {
      EXPECT_EQ(alone.experts[k], whole.experts[row * 2 + k]);
      EXPECT_EQ(alone.weights[k], whole.weights[row * 2 + k]);
    }
  }
  EXPECT_EQ(routed(spec, {}).rows(), 0u);
}

TEST(Route, NanAndInfinityAreRefusedByRowAndExpert) {
  RouterSpec spec{.experts = 3, .top_k = 1, .has_selection_bias = true};
  const std::vector<float> bias{0, 0, 0};
  const auto refusal = [&](const std::vector<float>& logits, const std::vector<float>& biases) {
    const auto result = route(spec, logits, biases);
    return result.ok() ? std::string() : result.error().message;
  };
  EXPECT_EQ(refusal({0, 1, 2, 3, 4, 5}, bias), "");
  EXPECT_EQ(refusal({0, 1, 2, 3, kNan, 5}, bias), "router logits: row 1, expert 1 is NaN");
  EXPECT_EQ(refusal({0, 1, kInfinity, 3, 4, 5}, bias),
            "router logits: row 0, expert 2 is infinite");
  EXPECT_EQ(refusal({0, 1, 2}, {0, kNan, 0}), "router bias: expert 1 is NaN");
  EXPECT_EQ(refusal({0, 1, 2}, {0, 0, -kInfinity}), "router bias: expert 2 is infinite");
}

TEST(Router, SpecsAreRefusedByName) {
  const auto refusal = [](const RouterSpec& spec) {
    const Status status = validate(spec);
    return status.ok() ? std::string() : status.error().message;
  };
  EXPECT_EQ(refusal({.experts = 8, .top_k = 8, .groups = 4, .kept_groups = 4}), "");
  EXPECT_EQ(refusal({.experts = 8, .top_k = 4, .groups = 4, .kept_groups = 2}), "");
  EXPECT_THAT(refusal({.experts = 0, .top_k = 1}), HasSubstr("experts"));
  EXPECT_THAT(refusal({.experts = 8, .top_k = 0}), HasSubstr("top_k: 0 of 8 experts"));
  EXPECT_THAT(refusal({.experts = 8, .top_k = 9}), HasSubstr("top_k: 9 of 8 experts"));
  EXPECT_THAT(refusal({.experts = 8, .top_k = 1, .groups = 0}), HasSubstr("groups"));
  EXPECT_THAT(refusal({.experts = 8, .top_k = 1, .groups = 3}),
              HasSubstr("8 experts are no multiple of 3 groups"));
  EXPECT_THAT(refusal({.experts = 8, .top_k = 1, .groups = 4, .kept_groups = 0}),
              HasSubstr("kept_groups: 0 of 4 groups"));
  EXPECT_THAT(refusal({.experts = 8, .top_k = 1, .groups = 4, .kept_groups = 5}),
              HasSubstr("kept_groups: 5 of 4 groups"));
  EXPECT_THAT(refusal({.experts = 8, .top_k = 5, .groups = 4, .kept_groups = 2}),
              HasSubstr("2 groups of 2 experts hold fewer than top_k 5"));
  EXPECT_THAT(refusal({.experts = 8, .top_k = 1, .scaling = kNan}), HasSubstr("scaling"));
}

}  // namespace
}  // namespace zllm::moe
