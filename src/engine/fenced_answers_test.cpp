#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <zllm/engine/scheduler_fixture_test-inl.h>

namespace zllm::engine {
namespace {

using Bench = SchedulerBench<hashed::PagedModel>;
using Steps = std::vector<std::vector<TokenId>>;

// Allows one of a list of tokens at each place; a list of one is forced.
class ListFence final : public Fence {
 public:
  explicit ListFence(Steps steps, std::size_t fails_at = SIZE_MAX)
      : steps_(std::move(steps)), fails_at_(fails_at) {}

  std::unique_ptr<Fence> clone() const override { return std::make_unique<ListFence>(*this); }
  Result<std::span<const std::uint32_t>> mask() override {
    if (at_ >= fails_at_) {
      return Error{Code::internal, "the fence broke"};
    }
    mask_ = 0;
    for (const TokenId token : steps_.at(at_)) {
      mask_ |= 1U << static_cast<unsigned>(token);
    }
    return std::span<const std::uint32_t>(&mask_, 1);
  }
  Result<std::vector<TokenId>> forced() override {
    std::vector<TokenId> tokens;
    for (std::size_t i = at_; i < steps_.size() && steps_[i].size() == 1; ++i) {
      tokens.push_back(steps_[i][0]);
    }
    return tokens;
  }
  Status advance(TokenId token) override {
    if (std::ranges::find(steps_.at(at_), token) == steps_[at_].end()) {
      return Error{Code::invalid_argument, "a token that may not come"};
    }
    ++at_;
    return {};
  }
  Status rollback(std::size_t tokens) override {
    at_ -= tokens;
    return {};
  }
  bool is_finished() const override { return at_ == steps_.size(); }

 private:
  Steps steps_;
  std::size_t fails_at_;
  std::size_t at_ = 0;
  std::uint32_t mask_ = 0;
};

const Steps kSteps = {{4}, {5, 6, 7}, {8}, {9}, {10}, {11, 12}, {13}};

Request fenced(Steps steps, std::uint64_t seed = 1) {
  Request request = plain_request(some_tokens(10, seed), 100, seed);
  request.fence = std::make_unique<ListFence>(std::move(steps));
  return request;
}

void expect_follows(const Asked& asked, std::size_t choice) {
  ASSERT_EQ(asked.tokens[choice].size(), kSteps.size());
  for (std::size_t i = 0; i < kSteps.size(); ++i) {
    EXPECT_TRUE(std::ranges::count(kSteps[i], asked.tokens[choice][i])) << i;
    EXPECT_EQ(asked.is_forced[choice][i], kSteps[i].size() == 1) << i;
  }
  EXPECT_EQ(asked.reason(choice), FinishReason::end_token);
  EXPECT_FALSE(asked.finished[choice]->end_token);
}

TEST(FencedAnswers, ForcedTokensRunInOneSegmentWithoutSampling) {
  Bench bench;
  Asked asked = bench.ask(fenced(kSteps));
  bench.run();
  asked.read();
  expect_follows(asked, 0);
  EXPECT_EQ(bench.statistics.forced_tokens, 5u);
  EXPECT_EQ(bench.statistics.generated_tokens, 7u);
  // The prompt; token 4; the chosen one with 8, 9 and 10; what follows 11 or 12 is never asked.
  ASSERT_EQ(bench.rounds.size(), 3u);
  EXPECT_EQ(bench.rounds[2].segments[0].tokens.size(), 4u);
  EXPECT_EQ(bench.rounds[2].segments[0].logit_rows.size(), 1u);
}

TEST(FencedAnswers, ForcedTokensHaveLogProbabilities) {
  Bench bench;
  Request request = fenced(kSteps);
  request.top_log_probabilities = 1;
  Asked asked = bench.ask(std::move(request));
  bench.run();
  asked.read();
  expect_follows(asked, 0);
  ASSERT_EQ(asked.scores[0].size(), kSteps.size());
  // The same text as a prompt.
  std::vector<TokenId> text = some_tokens(10, 1);
  text.insert(text.end(), asked.tokens[0].begin(), asked.tokens[0].end());
  Request whole = plain_request(text, 1);
  whole.wants_prompt_log_probabilities = true;
  Asked read = bench.ask(std::move(whole));
  bench.run();
  read.read();
  const auto& scores = read.prompt_read->log_probabilities;
  ASSERT_EQ(scores.size(), text.size() - 1);
  for (std::size_t i = 0; i < kSteps.size(); ++i) {
    EXPECT_EQ(asked.scores[0][i].chosen.token, asked.tokens[0][i]);
    EXPECT_EQ(asked.scores[0][i].chosen.log_probability, scores[9 + i].chosen.log_probability) << i;
  }
}

TEST(FencedAnswers, EveryChoiceHasItsOwnFence) {
  Bench bench({}, {.sequences = 2});
  Request request = fenced(kSteps);
  request.choices = 4;
  Asked asked = bench.ask(std::move(request));
  bench.run();
  asked.read();
  for (std::size_t choice = 0; choice < 4; ++choice) {
    expect_follows(asked, choice);
  }
}

TEST(FencedAnswers, ForcedRunsEndAtTheLengthAndWaitForTheReader) {
  Bench bench({}, {.buffered_events = 2});
  Request request = fenced(Steps(20, {3}));
  request.max_tokens = 12;
  Asked asked = bench.ask(std::move(request));
  for (int i = 0; i < 100 && !asked.ended; ++i) {
    bench.step();
    asked.read(1);
  }
  ASSERT_TRUE(asked.ended);
  EXPECT_EQ(asked.tokens[0], (std::vector<TokenId>(12, 3)));
  EXPECT_EQ(asked.reason(), FinishReason::length);
}

TEST(FencedAnswers, AFenceThatFailsCostsOnlyItsRequest) {
  Bench bench;
  Request broken = plain_request(some_tokens(10, 1), 20);
  broken.fence = std::make_unique<ListFence>(Steps(20, {3, 4}), 5);
  Request stuck = fenced({{3, 4}, {}, {5, 6}});
  Asked one = bench.ask(std::move(broken));
  Asked two = bench.ask(std::move(stuck));
  Asked three = bench.ask(plain_request(some_tokens(10, 3), 20));
  bench.run();
  one.read();
  two.read();
  three.read();
  EXPECT_EQ(one.failure(), "the fence broke");
  EXPECT_EQ(one.tokens[0].size(), 5u);
  EXPECT_NE(two.failure(), "");
  EXPECT_EQ(three.tokens[0],
            alone<hashed::PagedModel>(plain_request(some_tokens(10, 3), 20)).tokens);
}

TEST(FencedAnswers, PreemptionKeepsTheFenceWhereItIs) {
  Bench bench({.pages = 14}, {.sequences = 3});
  std::vector<Asked> all;
  Steps steps;
  for (int i = 0; i < 4; ++i) {
    steps.insert(steps.end(), kSteps.begin(), kSteps.end());
  }
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Request request = fenced(steps, seed);
    request.top_log_probabilities = 0;
    all.push_back(bench.ask(std::move(request)));
  }
  bench.run();
  Bench roomy;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Asked single = roomy.ask(fenced(steps, seed));
    roomy.run();
    single.read();
    all[seed - 1].read();
    EXPECT_EQ(all[seed - 1].failure(), "");
    EXPECT_EQ(all[seed - 1].tokens, single.tokens);
  }
}

}  // namespace
}  // namespace zllm::engine
