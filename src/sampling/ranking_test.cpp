#include <zllm/sampling/ranking.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include <zllm/sampling/log_probabilities.h>
#include <zllm/sampling/truncation.h>

namespace zllm::sampling {
namespace {

// Many ties and some bans, so that order and ties are both exercised.
std::vector<float> coarse_logits(std::size_t size) {
  std::vector<float> logits(size);
  for (std::size_t token = 0; token < size; ++token) {
    logits[token] = std::floor(std::sin(static_cast<float>(token) * 0.7f) * 50.0f) * 0.25f;
    if (token % 17 == 3) {
      logits[token] = -std::numeric_limits<float>::infinity();
    }
  }
  return logits;
}

TEST(Ranking, TopEqualsASortForEveryCount) {
  const auto logits = coarse_logits(3000);
  std::vector<Ranked> sorted;
  for (std::size_t token = 0; token < logits.size(); ++token) {
    sorted.push_back({logits[token], static_cast<TokenId>(token)});
  }
  std::sort(sorted.begin(), sorted.end(), [](const Ranked& a, const Ranked& b) {
    return std::pair(-a.logit, a.token) < std::pair(-b.logit, b.token);
  });
  EXPECT_EQ(highest(logits).token, sorted[0].token);
  for (const std::size_t count : {0u, 1u, 2u, 40u, 1023u, 1024u, 1025u, 2999u, 3000u, 9000u}) {
    const auto best = top(logits, count);
    ASSERT_EQ(best.size(), std::min<std::size_t>(count, 3000));
    for (std::size_t i = 0; i < best.size(); ++i) {
      ASSERT_EQ(best[i].token, sorted[i].token) << count << " " << i;
    }
  }
}

// The halving search and its prefilter against the plain definition.
TEST(Truncation, TopPEqualsAFullSort) {
  std::vector<Candidate> all;
  for (TokenId token = 0; token < 5000; ++token) {
    const double wave = std::floor(std::sin(token * 0.37) * 40.0) / 8.0;
    all.push_back({token, std::exp(wave)});
  }
  std::vector<Candidate> sorted = all;
  const auto likelier = [](const Candidate& a, const Candidate& b) {
    return std::pair(-a.probability, a.token) < std::pair(-b.probability, b.token);
  };
  const auto by_token = [](const Candidate& a, const Candidate& b) { return a.token < b.token; };
  std::sort(sorted.begin(), sorted.end(), likelier);
  const double sum = std::accumulate(
      all.begin(), all.end(), 0.0,
      [](double total, const Candidate& candidate) { return total + candidate.probability; });
  for (const double share : {1e-9, 0.05, 0.3, 0.9, 0.999, 1.0 - 1e-9}) {
    std::size_t size = 0;
    double reached = 0.0;
    while (reached < share * sum && size < sorted.size()) {
      reached += sorted[size++].probability;
    }
    std::vector<Candidate> kept = all;
    keep_top_p(kept, share);
    ASSERT_EQ(kept.size(), size) << share;
    EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end(), by_token));
    std::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(size), by_token);
    for (std::size_t i = 0; i < size; ++i) {
      ASSERT_EQ(kept[i].token, sorted[i].token) << share;
    }
    std::sort(sorted.begin(), sorted.end(), likelier);
  }
}

TEST(LogProbabilities, RawSoftmaxOfTheKnownIds) {
  const std::vector<float> logits{std::log(1.0f), std::log(4.0f), std::log(4.0f), std::log(7.0f),
                                  90.0f};
  const auto result = log_probabilities(logits, 4, 0, 3);
  ASSERT_TRUE(result.ok());
  EXPECT_NEAR(result->chosen.log_probability, std::log(1.0 / 16.0), 1e-6);
  ASSERT_EQ(result->top.size(), 3u);
  EXPECT_EQ(result->top[0].token, 3);
  EXPECT_EQ(result->top[1].token, 1);
  EXPECT_EQ(result->top[2].token, 2);
  EXPECT_NEAR(result->top[0].log_probability, std::log(7.0 / 16.0), 1e-6);
  EXPECT_TRUE(log_probabilities(logits, 4, 0, 0)->top.empty());
  EXPECT_EQ(log_probabilities(logits, 4, 0, 99)->top.size(), 4u);
}

TEST(LogProbabilities, BannedAndBroken) {
  const float banned = -std::numeric_limits<float>::infinity();
  std::vector<float> logits{banned, 5.0f};
  EXPECT_TRUE(std::isinf(log_probabilities(logits, 2, 0, 1)->chosen.log_probability));
  EXPECT_EQ(log_probabilities(logits, 2, 1, 1)->chosen.log_probability, 0.0);
  logits[1] = banned;
  EXPECT_FALSE(log_probabilities(logits, 2, 0, 1).ok());
  logits[1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(log_probabilities(logits, 2, 0, 1).ok());
}

}  // namespace
}  // namespace zllm::sampling
