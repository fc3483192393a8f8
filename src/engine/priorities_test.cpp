#include <gtest/gtest.h>

#include <vector>

#include <zllm/engine/scheduler_fixture_test-inl.h>

namespace zllm::engine {
namespace {

template <class Model>
class Priorities : public testing::Test {};

using Models = testing::Types<hashed::PagedModel, hashed::RecurrentModel>;
TYPED_TEST_SUITE(Priorities, Models);

TYPED_TEST(Priorities, AHigherPriorityTakesThePlaceOfALowerOne) {
  SchedulerBench<TypeParam> bench({}, {.sequences = 1});
  const auto ask = [&](std::uint64_t seed, std::size_t prompt, std::int32_t priority) {
    Request request = plain_request(some_tokens(prompt, seed), 12, seed);
    request.priority = priority;
    return bench.ask(std::move(request));
  };
  Asked low = ask(1, 90, 0);
  for (int i = 0; i < 5; ++i) {
    bench.step();
  }
  low.read();
  EXPECT_GT(low.tokens[0].size(), 0u);
  Asked equal = ask(2, 20, 0);
  bench.step();
  EXPECT_EQ(bench.statistics.preemptions, 0u);
  Asked high = ask(3, 20, 1);
  const std::uint64_t computed = bench.statistics.prompt_tokens;
  while (!high.ended) {
    bench.step();
    high.read();
    EXPECT_EQ(bench.rounds.back().segments.size(), 1u);
  }
  low.read();
  EXPECT_FALSE(low.ended);
  bench.run();
  low.read();
  equal.read();
  EXPECT_EQ(low.ended->preemptions, 1u);
  EXPECT_EQ(equal.ended->preemptions + high.ended->preemptions, 0u);
  EXPECT_EQ(low.tokens[0], alone<TypeParam>(plain_request(some_tokens(90, 1), 12, 1)).tokens);
  EXPECT_EQ(equal.tokens[0], alone<TypeParam>(plain_request(some_tokens(20, 2), 12, 2)).tokens);
  EXPECT_EQ(high.tokens[0], alone<TypeParam>(plain_request(some_tokens(20, 3), 12, 3)).tokens);
  // The cache kept the state that was given up, of a recurrent model its last anchor.
  EXPECT_LE(bench.statistics.prompt_tokens - computed, TypeParam::kIsRecurrent ? 40u + 64u : 41u);
}

TYPED_TEST(Priorities, AHigherPriorityTakesTheRowsOfLowerOnes) {
  SchedulerBench<TypeParam> bench({.pages = 40, .sequences = 6}, {.sequences = 4});
  const auto ask = [&](std::uint64_t seed, std::int32_t priority) {
    Request request = plain_request(some_tokens(50, seed), 12, seed);
    request.priority = priority;
    return bench.ask(std::move(request));
  };
  std::vector<Asked> all;
  for (std::uint64_t i = 0; i < 4; ++i) {
    all.push_back(ask(i, i == 1 ? 1 : 0));
  }
  bench.step();
  bench.step();
  bench.step();
  EXPECT_EQ(bench.statistics.preemptions, 0u);
  EXPECT_LT(bench.statistics.running_sequences, 4u) << "all of them found room";
  all.push_back(ask(4, 2));
  bench.step();
  EXPECT_GT(bench.statistics.preemptions, 0u);
  bench.run();
  for (std::uint64_t i = 0; i < all.size(); ++i) {
    all[i].read();
    EXPECT_EQ(all[i].failure(), "");
    EXPECT_EQ(all[i].tokens[0], alone<TypeParam>(plain_request(some_tokens(50, i), 12, i)).tokens);
  }
  EXPECT_EQ(all[4].ended->preemptions, 0u);
}

TYPED_TEST(Priorities, APromptThatWasPreemptedCountsAsComputed) {
  SchedulerBench<TypeParam> bench({.rows = 16}, {.sequences = 1});
  Asked low = bench.ask(plain_request(some_tokens(120, 1), 5));
  for (int i = 0; i < 6; ++i) {
    bench.step();
  }
  Request high = plain_request(some_tokens(20, 3), 5);
  high.priority = 1;
  Asked other = bench.ask(std::move(high));
  bench.run();
  low.read();
  other.read();
  ASSERT_TRUE(low.prompt_read);
  EXPECT_EQ(low.ended->preemptions, 1u);
  EXPECT_EQ(low.prompt_read->cached_tokens, 0u);
  EXPECT_EQ(low.tokens[0], alone<TypeParam>(plain_request(some_tokens(120, 1), 5)).tokens);
}

}  // namespace
}  // namespace zllm::engine
