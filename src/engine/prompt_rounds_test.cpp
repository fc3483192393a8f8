#include <gtest/gtest.h>

#include <vector>

#include <zllm/engine/scheduler_fixture_test-inl.h>

namespace zllm::engine {
namespace {

template <class Model>
class PromptRounds : public testing::Test {};

using Models = testing::Types<hashed::PagedModel, hashed::RecurrentModel>;
TYPED_TEST_SUITE(PromptRounds, Models);

TYPED_TEST(PromptRounds, APromptNeverTakesMoreThanItsBudgetBesideAnswers) {
  SchedulerBench<TypeParam> bench({.context = 1000, .rows = 512}, {.prefill_rows = 70});
  Asked answers = bench.ask(plain_request(some_tokens(10, 1), 40));
  bench.step();
  bench.step();
  bench.rounds.clear();
  Asked prompt = bench.ask(plain_request(some_tokens(600, 2), 3));
  std::size_t mixed = 0;
  while (!prompt.prompt_read) {
    bench.step();
    prompt.read();
  }
  for (const runtime::Round& round : bench.rounds) {
    ASSERT_EQ(round.segments.size(), 2u);
    EXPECT_EQ(round.segments[0].kind, runtime::SegmentKind::decode);
    EXPECT_LE(round.segments[1].tokens.size(), 70u);
    ++mixed;
  }
  EXPECT_GE(mixed, 9u);
  bench.run();
  answers.read();
  prompt.read();
  EXPECT_EQ(answers.tokens[0], alone<TypeParam>(plain_request(some_tokens(10, 1), 40)).tokens);
  EXPECT_EQ(prompt.tokens[0].size(), 3u);
}

TYPED_TEST(PromptRounds, AShortPromptDoesNotWaitForTheEndOfALongOne) {
  SchedulerBench<TypeParam> bench({.context = 2000, .rows = 64});
  Asked long_one = bench.ask(plain_request(some_tokens(1500, 1), 2));
  bench.step();
  Asked short_one = bench.ask(plain_request(some_tokens(50, 2), 2));
  bench.step();
  bench.step();
  short_one.read();
  EXPECT_TRUE(short_one.prompt_read);
  // Nor does a long one wait for the end of many short ones.
  std::vector<Asked> others;
  std::size_t steps = 0;
  while (!long_one.prompt_read) {
    ASSERT_LT(++steps, 2u * 1500 / 64 + 4);
    others.push_back(bench.ask(plain_request(some_tokens(60, 10 + steps), 1)));
    bench.step();
    long_one.read();
  }
  bench.run();
  long_one.read();
  SchedulerBench<TypeParam> quiet({.context = 2000, .rows = 64});
  Asked lone = quiet.ask(plain_request(some_tokens(1500, 1), 2));
  quiet.run();
  lone.read();
  EXPECT_EQ(long_one.tokens[0], lone.tokens[0]);
}

TYPED_TEST(PromptRounds, AShortPromptOfLowerPriorityWaits) {
  SchedulerBench<TypeParam> bench({.context = 2000, .rows = 64});
  Asked long_one = bench.ask(plain_request(some_tokens(600, 1), 2));
  Request low = plain_request(some_tokens(30, 2), 2);
  low.priority = -1;
  Asked short_one = bench.ask(std::move(low));
  while (!long_one.prompt_read) {
    EXPECT_FALSE(short_one.prompt_read);
    ASSERT_TRUE(bench.step());
    long_one.read();
    short_one.read();
  }
  bench.run();
  short_one.read();
  EXPECT_EQ(short_one.tokens[0].size(), 2u);
}

}  // namespace
}  // namespace zllm::engine
