#include <zllm/sampling/sampler.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace zllm::sampling {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr float kBanned = -std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> logs(const std::vector<double>& probabilities) {
  std::vector<float> logits;
  for (const double probability : probabilities) {
    logits.push_back(static_cast<float>(std::log(probability)) + 3.0f);
  }
  return logits;
}

Row row_of(std::span<const float> logits) {
  return {.logits = logits, .vocabulary = logits.size()};
}

std::vector<Candidate> distribution(const SamplingParameters& parameters, const Row& row) {
  Sampler sampler;
  const auto result = sampler.distribution(parameters, row);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  return result.ok() ? std::vector<Candidate>(result->begin(), result->end())
                     : std::vector<Candidate>{};
}

std::vector<TokenId> tokens(const SamplingParameters& parameters, const Row& row) {
  std::vector<TokenId> ids;
  for (const Candidate& candidate : distribution(parameters, row)) {
    ids.push_back(candidate.token);
  }
  return ids;
}

std::string error_of(const SamplingParameters& parameters, const Row& row) {
  Sampler sampler;
  const auto result = sampler.sample(parameters, row, {0, 0});
  return result.ok() ? "" : result.error().message;
}

SamplingParameters with(double SamplingParameters::*member, double value) {
  SamplingParameters parameters;
  parameters.*member = value;
  return parameters;
}

SamplingParameters with_top_k(std::int64_t k) {
  SamplingParameters parameters;
  parameters.top_k = k;
  return parameters;
}

SamplingParameters greedy() { return with(&SamplingParameters::temperature, 0.0); }

const std::vector<float> kLogits = logs({0.1, 0.4, 0.05, 0.25, 0.2});

TEST(Sampler, GreedyTakesTheHighestAndTiesGoToTheLowerId) {
  EXPECT_THAT(tokens(greedy(), row_of(kLogits)), ElementsAre(1));
  const std::vector<float> ties{1.0f, 7.0f, 7.0f, 7.0f};
  EXPECT_THAT(tokens(greedy(), row_of(ties)), ElementsAre(1));
  const std::vector<float> zeros{-0.0f, 0.0f};
  EXPECT_THAT(tokens(greedy(), row_of(zeros)), ElementsAre(0));
}

TEST(Sampler, PlainDistributionIsSoftmax) {
  const auto candidates = distribution({}, row_of(kLogits));
  ASSERT_EQ(candidates.size(), 5u);
  const double expected[] = {0.1, 0.4, 0.05, 0.25, 0.2};
  for (std::size_t token = 0; token < 5; ++token) {
    EXPECT_EQ(candidates[token].token, static_cast<TokenId>(token));
    EXPECT_NEAR(candidates[token].probability, expected[token], 1e-6);
  }
}

TEST(Sampler, TemperatureDividesLogits) {
  const auto half = distribution(with(&SamplingParameters::temperature, 0.5), row_of(kLogits));
  const double sum = 0.01 + 0.16 + 0.0025 + 0.0625 + 0.04;
  EXPECT_NEAR(half[1].probability, 0.16 / sum, 1e-6);
  const auto tiny = distribution(with(&SamplingParameters::temperature, 1e-300), row_of(kLogits));
  ASSERT_EQ(tiny.size(), 1u);
  EXPECT_EQ(tiny[0].token, 1);
  const auto flat = distribution(with(&SamplingParameters::temperature, 100.0), row_of(kLogits));
  for (const Candidate& candidate : flat) {
    EXPECT_NEAR(candidate.probability, 0.2, 0.003);
  }
}

TEST(Sampler, TopK) {
  EXPECT_EQ(tokens(with_top_k(0), row_of(kLogits)).size(), 5u);
  EXPECT_THAT(tokens(with_top_k(1), row_of(kLogits)), ElementsAre(1));
  EXPECT_THAT(tokens(with_top_k(3), row_of(kLogits)), ElementsAre(1, 3, 4));
  EXPECT_EQ(tokens(with_top_k(5), row_of(kLogits)).size(), 5u);
  EXPECT_EQ(tokens(with_top_k(std::numeric_limits<std::int64_t>::max()), row_of(kLogits)).size(),
            5u);
  const std::vector<float> ties{2.0f, 5.0f, 2.0f, 2.0f};
  EXPECT_THAT(tokens(with_top_k(2), row_of(ties)), ElementsAre(0, 1));
}

TEST(Sampler, TopPKeepsTheTokenThatReachesTheShare) {
  const auto kept = [](double share) {
    return tokens(with(&SamplingParameters::top_p, share), row_of(kLogits));
  };
  EXPECT_THAT(kept(1e-300), ElementsAre(1));
  EXPECT_THAT(kept(0.39), ElementsAre(1));
  EXPECT_THAT(kept(0.41), ElementsAre(1, 3));
  EXPECT_THAT(kept(0.66), ElementsAre(1, 3, 4));
  EXPECT_THAT(kept(0.94), ElementsAre(0, 1, 3, 4));
  EXPECT_EQ(kept(0.96).size(), 5u);
  const std::vector<float> ties(4, 1.0f);
  EXPECT_THAT(tokens(with(&SamplingParameters::top_p, 0.5), row_of(ties)), ElementsAre(0, 1));
}

TEST(Sampler, MinPComparesWithTheLikeliest) {
  const auto kept = [](double ratio) {
    return tokens(with(&SamplingParameters::min_p, ratio), row_of(kLogits));
  };
  EXPECT_EQ(kept(0.1).size(), 5u);
  EXPECT_THAT(kept(0.2), ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(kept(0.51), ElementsAre(1, 3));
  EXPECT_THAT(kept(1.0), ElementsAre(1));
}

TEST(Sampler, TypicalMayDropTheLikeliest) {
  // entropy 0.80; surprises 0.36 (off 0.45), 1.61 (off 0.81), 2.30 (off 1.50)
  const std::vector<float> three = logs({0.7, 0.2, 0.1});
  EXPECT_THAT(tokens(with(&SamplingParameters::typical_p, 0.71), row_of(three)), ElementsAre(0, 1));
  // entropy 1.24; surprises 1.05 (off 0.19), 1.20 (off 0.04) twice, 3.00 (off 1.76)
  const std::vector<float> broad = logs({0.35, 0.3, 0.3, 0.05});
  EXPECT_THAT(tokens(with(&SamplingParameters::typical_p, 0.55), row_of(broad)), ElementsAre(1, 2));
}

TEST(Sampler, TopPSeesWhatTopKLeft) {
  SamplingParameters parameters = with_top_k(2);  // 0.4 and 0.25 become 0.615 and 0.385
  parameters.top_p = 0.6;
  EXPECT_THAT(tokens(parameters, row_of(kLogits)), ElementsAre(1));
  parameters.top_p = 0.62;
  EXPECT_THAT(tokens(parameters, row_of(kLogits)), ElementsAre(1, 3));
}

TEST(Sampler, TemperatureComesBeforeTruncation) {
  SamplingParameters parameters = with(&SamplingParameters::temperature, 100.0);
  parameters.min_p = 0.9;
  EXPECT_EQ(tokens(parameters, row_of(kLogits)).size(), 5u);
}

TEST(Sampler, Penalties) {
  const std::vector<float> logits{2.0f, -2.0f, 1.5f};
  const std::vector<TokenId> history{0, 0, 1, 99, -5};
  Row row = row_of(logits);
  row.history = history;
  const auto logit_gap = [&](const SamplingParameters& parameters, std::size_t token) {
    const auto candidates = distribution(parameters, row);
    return std::log(candidates[token].probability / candidates[2].probability) + 1.5;
  };
  SamplingParameters repetition = with(&SamplingParameters::repetition_penalty, 2.0);
  EXPECT_NEAR(logit_gap(repetition, 0), 1.0, 1e-6);
  EXPECT_NEAR(logit_gap(repetition, 1), -4.0, 1e-6);
  const auto presence = with(&SamplingParameters::presence_penalty, 0.5);
  EXPECT_NEAR(logit_gap(presence, 0), 1.5, 1e-6);
  EXPECT_NEAR(logit_gap(presence, 1), -2.5, 1e-6);
  const auto frequency = with(&SamplingParameters::frequency_penalty, 0.5);
  EXPECT_NEAR(logit_gap(frequency, 0), 1.0, 1e-6);
  EXPECT_NEAR(logit_gap(frequency, 1), -2.5, 1e-6);
  // The window: the last three tokens hold 1 but not 0; 0 tokens is off; more than all is all.
  repetition.penalty_last_n = 3;
  EXPECT_NEAR(logit_gap(repetition, 0), 2.0, 1e-6);
  EXPECT_NEAR(logit_gap(repetition, 1), -4.0, 1e-6);
  repetition.penalty_last_n = 0;
  EXPECT_NEAR(logit_gap(repetition, 1), -2.0, 1e-6);
  repetition.penalty_last_n = 1000;
  EXPECT_NEAR(logit_gap(repetition, 0), 1.0, 1e-6);
}

TEST(Sampler, PenaltiesLeaveNoTraceInTheNextCall) {
  const std::vector<float> logits{2.0f, 1.9f};
  const std::vector<TokenId> history{0};
  Row row = row_of(logits);
  row.history = history;
  SamplingParameters parameters = greedy();
  parameters.presence_penalty = 1.0;
  Sampler sampler;
  EXPECT_EQ(*sampler.sample(parameters, row, {0, 0}), 1);
  EXPECT_EQ(*sampler.sample(greedy(), row, {0, 1}), 0);
  row.history = {};
  EXPECT_EQ(*sampler.sample(parameters, row, {0, 2}), 0);
}

TEST(Sampler, ExtremePenaltiesStayFinite) {
  const std::vector<float> logits{3e38f, 1.0f, kBanned, -3e38f};
  const std::vector<TokenId> history{0, 1, 2, 3};
  Row row = row_of(logits);
  row.history = history;
  for (const double penalty : {1e-300, 1000.0}) {
    const auto kept = tokens(with(&SamplingParameters::repetition_penalty, penalty), row);
    EXPECT_THAT(kept, testing::Not(testing::Contains(2)));
    EXPECT_FALSE(kept.empty());
  }
}

TEST(Sampler, BiasAddsUpAndBans) {
  SamplingParameters parameters = greedy();
  parameters.logit_bias = {{2, 1.5}, {2, 1.5}};
  EXPECT_THAT(tokens(parameters, row_of(kLogits)), ElementsAre(2));
  parameters.logit_bias = {{1, -std::numeric_limits<double>::infinity()}};
  EXPECT_THAT(tokens(parameters, row_of(kLogits)), ElementsAre(3));
  parameters.temperature = 1.0;
  EXPECT_THAT(tokens(parameters, row_of(kLogits)), ElementsAre(0, 2, 3, 4));
}

TEST(Sampler, MaskBansBeforeAllElse) {
  const std::vector<std::uint32_t> mask{0b10101u};
  Row row = row_of(kLogits);
  row.mask = mask;
  EXPECT_THAT(tokens({}, row), ElementsAre(0, 2, 4));
  EXPECT_THAT(tokens(greedy(), row), ElementsAre(4));
  SamplingParameters biased = greedy();
  biased.logit_bias = {{1, 100.0}};
  EXPECT_THAT(tokens(biased, row), ElementsAre(4));
}

TEST(Sampler, PaddedIdsHaveNoProbability) {
  std::vector<float> padded(40, 0.0f);
  padded[33] = 50.0f;
  padded[34] = kNan;
  const Row row{.logits = padded, .vocabulary = 30};
  Sampler sampler;
  const auto hot = with(&SamplingParameters::temperature, 100.0);
  for (std::uint64_t position = 0; position < 2000; ++position) {
    EXPECT_LT(*sampler.sample(hot, row, {0, position}), 30);
  }
  EXPECT_THAT(tokens(greedy(), row), ElementsAre(0));
}

TEST(Sampler, RefusesBrokenLogitsByTheirToken) {
  std::vector<float> logits{0.0f, 1.0f, kNan};
  for (const auto& parameters : {SamplingParameters{}, greedy(), with_top_k(1)}) {
    EXPECT_THAT(error_of(parameters, row_of(logits)), HasSubstr("token 2 is NaN"));
  }
  logits[2] = std::numeric_limits<float>::infinity();
  EXPECT_THAT(error_of({}, row_of(logits)), HasSubstr("token 2 is plus infinity"));
  logits[2] = kBanned;
  EXPECT_EQ(error_of({}, row_of(logits)), "");
  const std::vector<float> none(4, kBanned);
  EXPECT_THAT(error_of({}, row_of(none)), HasSubstr("every token"));
  EXPECT_THAT(error_of(greedy(), row_of(none)), HasSubstr("every token"));
  const std::vector<std::uint32_t> mask{0};
  Row row = row_of(kLogits);
  row.mask = mask;
  EXPECT_THAT(error_of({}, row), HasSubstr("every token"));
  row.vocabulary = 0;
  EXPECT_THAT(error_of({}, row), HasSubstr("vocabulary without tokens"));
}

TEST(Sampler, SingleTokenVocabulary) {
  const std::vector<float> one{-40.0f};
  SamplingParameters parameters;
  parameters.top_k = 1;
  parameters.top_p = 0.1;
  parameters.typical_p = 0.1;
  parameters.min_p = 1.0;
  EXPECT_THAT(tokens(parameters, row_of(one)), ElementsAre(0));
}

TEST(Sampler, PickWalksCumulativeProbabilities) {
  const std::vector<Candidate> candidates{{4, 0.25}, {7, 0.5}, {9, 0.25 - 1e-12}};
  EXPECT_EQ(pick(candidates, 0.0), 4);
  EXPECT_EQ(pick(candidates, 0.25), 7);
  EXPECT_EQ(pick(candidates, 0.7499), 7);
  EXPECT_EQ(pick(candidates, 0.75), 9);
  EXPECT_EQ(pick(candidates, 1.0 - 0x1p-53), 9);
}

TEST(Sampler, TokensDependOnSeedChoiceAndPositionAlone) {
  const std::vector<float> flat(1000, 0.0f);
  Sampler used;
  EXPECT_TRUE(used.sample(with_top_k(3), row_of(kLogits), {5, 5}).ok());
  SamplingParameters seeded;
  seeded.seed = 77;
  const auto draw = [&](Sampler& sampler, const SamplingParameters& parameters, Place place) {
    return *sampler.sample(parameters, row_of(flat), place);
  };
  Sampler fresh;
  int same = 0;
  for (std::uint64_t position = 0; position < 50; ++position) {
    const TokenId token = draw(fresh, seeded, {0, position});
    EXPECT_EQ(draw(used, seeded, {0, position}), token);
    same += draw(fresh, seeded, {1, position}) == token ? 1 : 0;
    same += draw(fresh, {}, {0, position}) == token ? 1 : 0;
    same += draw(fresh, seeded, {0, position + 1}) == token ? 1 : 0;
  }
  EXPECT_LT(same, 5);
}

// Chi-square against the distribution itself; bounds are the 0.1 % points of 1 to 4 degrees of
// freedom, seeds are fixed.
TEST(Sampler, DrawsFollowTheDistribution) {
  constexpr double kPoints[] = {10.83, 13.82, 16.27, 18.47};
  constexpr int kDraws = 20000;
  SamplingParameters all;
  SamplingParameters mixed = with(&SamplingParameters::temperature, 1.7);
  mixed.top_k = 4;
  mixed.min_p = 0.3;
  for (SamplingParameters parameters : {all, mixed, with(&SamplingParameters::top_p, 0.6),
                                        with(&SamplingParameters::typical_p, 0.8)}) {
    parameters.seed = 20240607;
    const auto expected = distribution(parameters, row_of(kLogits));
    std::vector<int> counts(5, 0);
    Sampler sampler;
    for (std::uint64_t position = 0; position < kDraws; ++position) {
      const auto token = sampler.sample(parameters, row_of(kLogits), {0, position});
      ++counts[static_cast<std::size_t>(*token)];
    }
    double chi_square = 0.0;
    int drawn = 0;
    for (const Candidate& candidate : expected) {
      const int count = counts[static_cast<std::size_t>(candidate.token)];
      const double mean = candidate.probability * kDraws;
      chi_square += (count - mean) * (count - mean) / mean;
      drawn += count;
    }
    EXPECT_EQ(drawn, kDraws);
    ASSERT_GE(expected.size(), 2u);
    EXPECT_LT(chi_square, kPoints[expected.size() - 2]);
  }
}

}  // namespace
}  // namespace zllm::sampling
