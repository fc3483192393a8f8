#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include <zllm/engine/scheduler_fixture_test-inl.h>

namespace zllm::engine {
namespace {

template <class Model>
class Scheduling : public testing::Test {};

using Models = testing::Types<hashed::PagedModel, hashed::RecurrentModel>;
TYPED_TEST_SUITE(Scheduling, Models);

TYPED_TEST(Scheduling, AnswersAsAloneAndTellsInOrder) {
  SchedulerBench<TypeParam> bench;
  Request request = plain_request(some_tokens(70, 1), 20, 3);
  request.end_tokens = {11};
  const LoneAnswer wanted = alone<TypeParam>(request);
  Asked asked = bench.ask(std::move(request));
  bench.run();
  asked.read();
  ASSERT_TRUE(asked.ended) << "no end";
  EXPECT_EQ(asked.failure(), "");
  EXPECT_EQ(asked.prompt_read->prompt_tokens, 70u);
  EXPECT_EQ(asked.tokens[0], wanted.tokens);
  EXPECT_EQ(asked.reason(), wanted.reason);
  EXPECT_EQ(bench.statistics.finished_requests, 1u);
  EXPECT_EQ(bench.statistics.running_sequences, 0u);
  EXPECT_EQ(bench.statistics.generated_tokens, wanted.tokens.size());
}

TYPED_TEST(Scheduling, AFullCacheStopsNobody) {
  SchedulerBench<TypeParam> bench({.pages = 60, .sequences = 5}, {.sequences = 2});
  std::vector<Asked> all;
  for (std::uint64_t i = 0; i < 200; ++i) {
    all.push_back(bench.ask(plain_request(some_tokens(40 + i % 50, i), 5, i)));
  }
  bench.run();
  for (Asked& asked : all) {
    asked.read();
    ASSERT_TRUE(asked.ended);
    EXPECT_EQ(asked.failure(), "");
    EXPECT_EQ(asked.tokens[0].size(), 5u);
  }
}

TYPED_TEST(Scheduling, WhatCanNeverFitFailsAndOthersGoOn) {
  SchedulerBench<TypeParam> bench({.pages = 12, .sequences = 4}, {.sequences = 3});
  Asked large = bench.ask(plain_request(some_tokens(60, 1), 4));
  Asked grows = bench.ask(plain_request(some_tokens(20, 2), 100));
  Asked small = bench.ask(plain_request(some_tokens(20, 3), 10));
  bench.run();
  for (Asked *const asked : {&large, &grows, &small}) {
    asked->read();
    ASSERT_TRUE(asked->ended);
  }
  ASSERT_TRUE(large.ended->failure);
  EXPECT_EQ(large.ended->failure->kind, FailureKind::no_memory);
  ASSERT_TRUE(grows.ended->failure);
  EXPECT_EQ(grows.ended->failure->kind, FailureKind::no_memory);
  EXPECT_EQ(grows.tokens[0].size(), 29u);
  EXPECT_EQ(small.failure(), "");
  EXPECT_EQ(small.tokens[0].size(), 10u);
}

TYPED_TEST(Scheduling, ChoicesShareAPromptThatIsComputedOnce) {
  SchedulerBench<TypeParam> bench({}, {.sequences = 3});
  Request request = plain_request(some_tokens(30, 1), 12, 5);
  request.choices = 3;
  Asked asked = bench.ask(std::move(request));
  bench.run();
  asked.read();
  EXPECT_EQ(bench.statistics.prompt_tokens, 30u);
  EXPECT_NE(asked.tokens[0], asked.tokens[1]);
  for (std::uint32_t choice = 0; choice < 3; ++choice) {
    EXPECT_EQ(asked.tokens[choice],
              alone<TypeParam>(plain_request(some_tokens(30, 1), 12, 5), choice).tokens);
    EXPECT_EQ(asked.reason(choice), FinishReason::length);
  }
}

TYPED_TEST(Scheduling, MoreChoicesThanPlacesAllAnswer) {
  SchedulerBench<TypeParam> bench({}, {.sequences = 2});
  Request request = plain_request(some_tokens(30, 1), 6, 5);
  request.choices = 5;
  Asked asked = bench.ask(std::move(request));
  bench.run();
  asked.read();
  ASSERT_TRUE(asked.ended);
  for (std::uint32_t choice = 0; choice < 5; ++choice) {
    EXPECT_EQ(asked.tokens[choice],
              alone<TypeParam>(plain_request(some_tokens(30, 1), 6, 5), choice).tokens);
  }
  for (const runtime::Round& round : bench.rounds) {
    EXPECT_LE(round.segments.size(), 2u);
  }
}

// Of one caller's many requests and another's few, the few are not served last.
TYPED_TEST(Scheduling, CallersTakeTurnsAndOneCallerIsServedInOrder) {
  SchedulerBench<TypeParam> bench({}, {.sequences = 1});
  std::vector<Asked> many;
  std::vector<Asked> few;
  for (std::uint64_t i = 0; i < 8; ++i) {
    Request request = plain_request(some_tokens(10, i), 10, i);
    request.caller = "many";
    many.push_back(bench.ask(std::move(request)));
  }
  for (std::uint64_t i = 0; i < 2; ++i) {
    Request request = plain_request(some_tokens(10, 50 + i), 10, i);
    request.caller = "few";
    few.push_back(bench.ask(std::move(request)));
  }
  std::vector<std::string> order;
  while (bench.step()) {
    for (std::size_t i = 0; i < many.size(); ++i) {
      const bool was_ended = many[i].ended.has_value();
      many[i].read();
      if (!was_ended && many[i].ended) {
        order.push_back("m" + std::to_string(i));
      }
    }
    for (std::size_t i = 0; i < few.size(); ++i) {
      const bool was_ended = few[i].ended.has_value();
      few[i].read();
      if (!was_ended && few[i].ended) {
        order.push_back("f" + std::to_string(i));
      }
    }
  }
  ASSERT_EQ(order.size(), 10u);
  EXPECT_EQ((std::vector<std::string>{order.begin(), order.begin() + 5}),
            (std::vector<std::string>{"m0", "f0", "m1", "f1", "m2"}));
  EXPECT_EQ(order.back(), "m7");
}

TYPED_TEST(Scheduling, DeadlinesEndQueuedAndRunningRequests) {
  SchedulerBench<TypeParam> bench({}, {.sequences = 1});
  const auto ask = [&](int seconds) {
    Request request = plain_request(some_tokens(5, 1), 100);
    request.deadline = bench.now + std::chrono::seconds(seconds);
    return bench.ask(std::move(request));
  };
  Asked running = ask(20);
  Asked queued = ask(10);
  bench.step();
  EXPECT_EQ(bench.scheduler->next_deadline(), bench.now + std::chrono::seconds(10));
  bench.now += std::chrono::seconds(10);
  bench.step();
  queued.read();
  running.read();
  ASSERT_TRUE(queued.ended && queued.ended->failure);
  EXPECT_EQ(queued.ended->failure->kind, FailureKind::deadline);
  EXPECT_FALSE(running.ended);
  bench.now += std::chrono::seconds(10);
  EXPECT_FALSE(bench.step());
  running.read();
  ASSERT_TRUE(running.ended && running.ended->failure);
  EXPECT_EQ(running.ended->failure->kind, FailureKind::deadline);
  EXPECT_EQ(bench.statistics.running_sequences, 0u);
  EXPECT_EQ(bench.statistics.failed_requests, 2u);
  EXPECT_FALSE(bench.scheduler->next_deadline());
}

TYPED_TEST(Scheduling, CancellationEndsWithinARoundAndFreesPages) {
  SchedulerBench<TypeParam> bench({}, {.sequences = 1, .prefix_cache = {.is_enabled = false}});
  Asked running = bench.ask(plain_request(some_tokens(20, 1), 100));
  Asked queued = bench.ask(plain_request(some_tokens(20, 2), 100));
  bench.step();
  bench.step();
  EXPECT_LT(bench.statistics.free_rows, bench.capacity_rows);
  running.stream->cancel();
  queued.stream->cancel();
  EXPECT_FALSE(bench.step());
  for (Asked *const asked : {&running, &queued}) {
    asked->read();
    ASSERT_TRUE(asked->ended);
    EXPECT_EQ(asked->failure(), "");
    EXPECT_EQ(asked->reason(), FinishReason::cancelled);
  }
  EXPECT_EQ(bench.statistics.cancelled_requests, 2u);
  EXPECT_EQ(bench.statistics.free_rows, bench.capacity_rows);
}

TYPED_TEST(Scheduling, ACancelledChoiceLeavesTheOthers) {
  SchedulerBench<TypeParam> bench;
  Request request = plain_request(some_tokens(20, 1), 12, 9);
  request.choices = 3;
  Asked asked = bench.ask(std::move(request));
  bench.step();
  asked.stream->cancel_choice(1);
  asked.stream->cancel_choice(77);
  bench.run();
  asked.read();
  EXPECT_EQ(asked.reason(1), FinishReason::cancelled);
  EXPECT_LT(asked.tokens[1].size(), 12u);
  for (const std::uint32_t choice : {0u, 2u}) {
    EXPECT_EQ(asked.tokens[choice],
              alone<TypeParam>(plain_request(some_tokens(20, 1), 12, 9), choice).tokens);
  }
  // The one that reads the prompt for the others may go too.
  Request second = plain_request(some_tokens(90, 2), 5, 9);
  second.choices = 2;
  Asked led = bench.ask(std::move(second));
  bench.step();
  led.stream->cancel_choice(0);
  bench.run();
  led.read();
  EXPECT_EQ(led.reason(0), FinishReason::cancelled);
  EXPECT_EQ(led.tokens[1], alone<TypeParam>(plain_request(some_tokens(90, 2), 5, 9), 1).tokens);
}

TYPED_TEST(Scheduling, ASlowReaderStallsOnlyItself) {
  SchedulerBench<TypeParam> bench({}, {.sequences = 1, .buffered_events = 4});
  Asked slow = bench.ask(plain_request(some_tokens(10, 1), 30, 1));
  Asked fast = bench.ask(plain_request(some_tokens(10, 2), 30, 2));
  while (bench.step()) {
    fast.read();
  }
  fast.read();
  EXPECT_EQ(fast.tokens[0].size(), 30u);
  EXPECT_FALSE(slow.ended);
  EXPECT_EQ(slow.events->room(), 0u);
  for (int i = 0; i < 40 && !slow.ended; ++i) {
    slow.read(1);
    bench.step();
  }
  slow.read();
  EXPECT_EQ(slow.tokens[0], alone<TypeParam>(plain_request(some_tokens(10, 1), 30, 1)).tokens);
}

TYPED_TEST(Scheduling, SlowReadersThatWerePreemptedStopNobody) {
  SchedulerBench<TypeParam> bench({.pages = 16, .sequences = 2},
                                  {.sequences = 2, .buffered_events = 2});
  std::vector<Asked> slow;
  for (std::uint64_t i = 0; i < 5; ++i) {
    slow.push_back(bench.ask(plain_request(some_tokens(20, i), 10, i)));
  }
  bench.run();
  Asked fast = bench.ask(plain_request(some_tokens(20, 9), 10, 9));
  while (bench.step()) {
    fast.read();
  }
  fast.read();
  ASSERT_TRUE(fast.ended);
  EXPECT_EQ(fast.tokens[0].size(), 10u);
  EXPECT_GT(bench.statistics.preemptions, 0u);
  for (int i = 0; i < 100; ++i) {
    bench.step();
    for (Asked& asked : slow) {
      asked.read();
    }
  }
  for (std::uint64_t i = 0; i < slow.size(); ++i) {
    EXPECT_EQ(slow[i].tokens[0], alone<TypeParam>(plain_request(some_tokens(20, i), 10, i)).tokens);
  }
}

TYPED_TEST(Scheduling, TheContextEndsAnAnswer) {
  SchedulerBench<TypeParam> bench({.context = 40});
  const Request request = plain_request(some_tokens(30, 1), 100);
  Asked asked = bench.ask(plain_request(some_tokens(30, 1), 100));
  Asked full = bench.ask(plain_request(some_tokens(40, 1), 100));
  bench.run();
  asked.read();
  full.read();
  EXPECT_EQ(asked.reason(), FinishReason::length);
  EXPECT_EQ(asked.tokens[0], alone<TypeParam>(request, 0, {.context = 40}).tokens);
  EXPECT_EQ(asked.tokens[0].size(), 11u);
  EXPECT_EQ(full.tokens[0].size(), 1u);
}

TYPED_TEST(Scheduling, AFailedRoundFailsTheRequestThatMadeItFail) {
  SchedulerBench<TypeParam> bench;
  Asked good = bench.ask(plain_request(some_tokens(10, 1), 10));
  bench.step();
  std::vector<TokenId> bad_prompt = some_tokens(10, 2);
  bad_prompt[5] = 23;
  bench.before_round = [](const runtime::Round& round) -> Status {
    for (const runtime::Segment& segment : round.segments) {
      if (segment.tokens.size() > 5 && segment.tokens[5] == 23) {
        return Error{Code::internal, "token 23 of all"};
      }
    }
    return {};
  };
  Asked bad = bench.ask(plain_request(std::move(bad_prompt), 10));
  bench.run();
  good.read();
  bad.read();
  EXPECT_EQ(bad.failure(), "token 23 of all");
  EXPECT_EQ(bad.ended->failure->kind, FailureKind::failed);
  EXPECT_EQ(good.tokens[0], alone<TypeParam>(plain_request(some_tokens(10, 1), 10)).tokens);
}

TYPED_TEST(Scheduling, AFailedCheckFailsAllThatRuns) {
  bool is_broken = false;
  LoopOptions options;
  options.check = [&]() -> Status {
    return is_broken ? Status(Error{Code::io, "the file is gone"}) : Status();
  };
  SchedulerBench<TypeParam> bench({}, std::move(options));
  Asked one = bench.ask(plain_request(some_tokens(10, 1), 10));
  Asked two = bench.ask(plain_request(some_tokens(10, 2), 10));
  bench.step();
  is_broken = true;
  bench.step();
  one.read();
  two.read();
  EXPECT_EQ(one.failure(), "the file is gone");
  EXPECT_EQ(two.failure(), "the file is gone");
  EXPECT_EQ(one.tokens[0].size(), 1u);
  EXPECT_EQ(bench.statistics.free_rows, bench.capacity_rows);
}

TYPED_TEST(Scheduling, ScoresTokensAndPrompts) {
  SchedulerBench<TypeParam> bench({}, {.prefill_rows = 6});
  const auto ask = [&](bool of_prompt) {
    Request request = plain_request(some_tokens(100, 1), 5);
    request.top_log_probabilities = 2;
    request.wants_prompt_log_probabilities = of_prompt;
    return bench.ask(std::move(request));
  };
  Asked plain = ask(false);
  bench.run();
  Asked scored = ask(true);
  Asked again = ask(false);
  bench.run();
  plain.read();
  scored.read();
  again.read();
  ASSERT_EQ(scored.prompt_read->log_probabilities.size(), 99u);
  EXPECT_EQ(scored.prompt_read->cached_tokens, 0u);
  EXPECT_EQ(scored.prompt_read->log_probabilities[7].chosen.token, some_tokens(100, 1)[8]);
  EXPECT_EQ(scored.prompt_read->log_probabilities[7].top.size(), 2u);
  EXPECT_TRUE(plain.prompt_read->log_probabilities.empty());
  ASSERT_EQ(plain.scores[0].size(), 5u);
  EXPECT_EQ(scored.tokens, plain.tokens);
  EXPECT_EQ(again.tokens, plain.tokens);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(plain.scores[0][i].chosen.token, plain.tokens[0][i]);
    EXPECT_EQ(plain.scores[0][i].chosen.log_probability,
              scored.scores[0][i].chosen.log_probability);
  }
}

TYPED_TEST(Scheduling, BansEndTokensBeforeTheLeastLength) {
  SchedulerBench<TypeParam> bench;
  Request request = plain_request(some_tokens(10, 1), 30, 4);
  for (TokenId token = 0; token < 20; ++token) {
    request.end_tokens.push_back(token);
  }
  request.min_tokens = 7;
  Asked asked = bench.ask(std::move(request));
  bench.run();
  asked.read();
  EXPECT_GE(asked.tokens[0].size(), 7u);
  EXPECT_EQ(asked.reason(), FinishReason::end_token);
  EXPECT_TRUE(asked.finished[0]->end_token);
  EXPECT_TRUE(std::ranges::all_of(asked.tokens[0], [](TokenId token) { return token >= 20; }));
}

TYPED_TEST(Scheduling, LaterRequestsStartFromWhatWasComputed) {
  SchedulerBench<TypeParam> bench({.pages = 400}, {.sequences = 4});
  std::vector<TokenId> longer = some_tokens(150, 1);
  const std::vector<TokenId> start = some_tokens(140, 1);
  const auto ask = [&](const std::vector<TokenId>& prompt) {
    return bench.ask(plain_request(prompt, 5, 2));
  };
  Asked first = ask(start);
  // Asked at the same time, they wait for the first one's prompt.
  Asked second = ask(start);
  Asked third = ask(longer);
  bench.run();
  const std::uint64_t computed = bench.statistics.prompt_tokens;
  Asked fourth = ask(start);
  bench.run();
  for (Asked *const asked : {&first, &second, &third, &fourth}) {
    asked->read();
    EXPECT_EQ(asked->failure(), "");
  }
  // A recurrent state is kept at the last anchor before the last token.
  constexpr bool kIsRecurrent = TypeParam::kIsRecurrent;
  EXPECT_EQ(first.prompt_read->cached_tokens, 0u);
  EXPECT_EQ(second.prompt_read->cached_tokens, kIsRecurrent ? 128u : 139u);
  EXPECT_EQ(third.prompt_read->cached_tokens, kIsRecurrent ? 128u : 140u);
  EXPECT_EQ(fourth.prompt_read->cached_tokens, kIsRecurrent ? 128u : 139u);
  EXPECT_EQ(bench.statistics.prompt_tokens - computed, kIsRecurrent ? 12u : 1u);
  EXPECT_EQ(first.tokens, second.tokens);
  EXPECT_EQ(first.tokens, fourth.tokens);
  EXPECT_EQ(first.tokens[0], alone<TypeParam>(plain_request(start, 5, 2)).tokens);
  EXPECT_EQ(third.tokens[0], alone<TypeParam>(plain_request(longer, 5, 2)).tokens);
}

TYPED_TEST(Scheduling, ACancelledRequestLeavesItsPrefix) {
  SchedulerBench<TypeParam> bench;
  Asked cancelled = bench.ask(plain_request(some_tokens(90, 1), 50));
  for (int i = 0; i < 6; ++i) {
    bench.step();
  }
  cancelled.stream->cancel();
  Request silent = plain_request(some_tokens(90, 2), 50);
  silent.writes_cache = false;
  Asked unkept = bench.ask(std::move(silent));
  bench.run();
  Asked again = bench.ask(plain_request(some_tokens(90, 1), 5));
  Asked other = bench.ask(plain_request(some_tokens(90, 2), 5));
  Request blind = plain_request(some_tokens(90, 1), 5);
  blind.reads_cache = false;
  Asked cold = bench.ask(std::move(blind));
  bench.run();
  again.read();
  other.read();
  cold.read();
  EXPECT_EQ(again.prompt_read->cached_tokens, TypeParam::kIsRecurrent ? 64u : 89u);
  EXPECT_EQ(other.prompt_read->cached_tokens, 0u);
  EXPECT_EQ(cold.prompt_read->cached_tokens, 0u);
  EXPECT_EQ(cold.tokens, again.tokens);
}

TYPED_TEST(Scheduling, ShuttingDownEndsEverything) {
  SchedulerBench<TypeParam> bench({}, {.sequences = 1});
  Asked running = bench.ask(plain_request(some_tokens(10, 1), 30));
  Asked queued = bench.ask(plain_request(some_tokens(10, 1), 30));
  bench.step();
  bench.scheduler->shut_down();
  for (Asked *const asked : {&running, &queued}) {
    asked->read();
    ASSERT_TRUE(asked->ended && asked->ended->failure);
    EXPECT_EQ(asked->ended->failure->kind, FailureKind::shut_down);
  }
}

}  // namespace
}  // namespace zllm::engine
