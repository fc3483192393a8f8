#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include <zllm/engine/scheduler_fixture_test-inl.h>

namespace zllm::engine {
namespace {

template <class Model>
class MixedRequests : public testing::Test {};

using Models = testing::Types<hashed::PagedModel, hashed::RecurrentModel>;
TYPED_TEST_SUITE(MixedRequests, Models);

struct Mix {
  hashed::Sizes sizes;
  LoopOptions options;
};

// Requests of all kinds with readers of all kinds; every answer is that of its single run.
template <class Model>
void run_mix(const Mix& mix, std::uint64_t seed, Statistics& last) {
  SchedulerBench<Model> bench(mix.sizes, mix.options);
  std::mt19937_64 random(seed);
  const auto draw = [&](std::uint64_t most) { return random() % most; };
  struct Case {
    Request copy;
    Asked asked;
    bool is_cancelled = false;
  };
  std::vector<Case> cases;
  constexpr std::size_t kRequests = 64;
  std::size_t ended = 0;
  for (std::size_t steps = 0; ended < kRequests; ++steps) {
    ASSERT_LT(steps, 40000u) << "stuck with " << ended << " ended";
    if (cases.size() < kRequests && draw(3) == 0) {
      const auto make = [&, kind = draw(4), length = 1 + draw(90), tokens = 1 + draw(30),
                         choices = draw(5) == 0 ? 3 : 1, priority = draw(3), caller = draw(3),
                         temperature = draw(3)] {
        // Half of the prompts begin alike.
        std::vector<TokenId> prompt = some_tokens(kind < 2 ? 70 : 0, 1);
        const std::vector<TokenId> rest = some_tokens(length, kind + length);
        prompt.insert(prompt.end(), rest.begin(), rest.end());
        Request request = plain_request(std::move(prompt), tokens, length);
        request.choices = static_cast<std::uint32_t>(choices);
        request.priority = static_cast<std::int32_t>(priority);
        request.caller = std::to_string(caller);
        request.sampling.temperature = static_cast<double>(temperature) * 0.7;
        request.sampling.frequency_penalty = temperature == 1 ? 0.5 : 0.0;
        request.end_tokens = {3};
        return request;
      };
      cases.push_back({.copy = make(), .asked = bench.ask(make())});
    }
    for (Case& one : cases) {
      if (one.asked.ended) {
        continue;
      }
      if (draw(400) == 0) {
        one.asked.stream->cancel();
        one.is_cancelled = true;
      }
      if (draw(300) == 0) {
        one.asked.stream->cancel_choice(static_cast<std::uint32_t>(draw(3)));
        one.is_cancelled = true;
      }
      if (draw(2) == 0) {
        one.asked.read(draw(20));
        ended += one.asked.ended ? 1U : 0U;
      }
    }
    bench.step();
  }
  for (const Case& one : cases) {
    EXPECT_EQ(one.asked.failure(), "");
    for (std::uint32_t choice = 0; choice < one.copy.choices; ++choice) {
      const LoneAnswer wanted = alone<Model>(one.copy, choice, mix.sizes);
      std::vector<TokenId> tokens = wanted.tokens;
      if (one.asked.reason(choice) == FinishReason::cancelled) {
        EXPECT_TRUE(one.is_cancelled);
        ASSERT_LE(one.asked.tokens[choice].size(), tokens.size());
        tokens.resize(one.asked.tokens[choice].size());
      } else {
        EXPECT_EQ(one.asked.reason(choice), wanted.reason);
      }
      EXPECT_EQ(one.asked.tokens[choice], tokens);
    }
  }
  last = bench.statistics;
  bench.scheduler.reset();
  EXPECT_EQ(bench.model.states().free_rows(), bench.capacity_rows) << "pages are lost";
}

TYPED_TEST(MixedRequests, EachEqualsItsSingleRun) {
  const Mix mix{.sizes = {}, .options = {.sequences = 6, .prefill_rows = 8, .buffered_events = 5}};
  Statistics last;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    run_mix<TypeParam>(mix, seed, last);
    EXPECT_GT(last.preemptions, 0u) << "of lower priorities by higher ones";
  }
}

TYPED_TEST(MixedRequests, PreemptionChangesNoAnswer) {
  for (const std::uint64_t swap_bytes : {std::uint64_t{0}, std::uint64_t{1} << 20}) {
    const Mix mix{.sizes = {.pages = 70, .sequences = 7},
                  .options = {.sequences = 5,
                              .prefill_rows = 16,  // not what rounds took: that differs each time
                              .buffered_events = 4,
                              .swap_bytes = swap_bytes}};
    Statistics last;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      run_mix<TypeParam>(mix, seed, last);
      EXPECT_GT(last.preemptions, 0u);
      EXPECT_EQ(last.swapped_bytes > 0, swap_bytes > 0);
    }
  }
}

}  // namespace
}  // namespace zllm::engine
