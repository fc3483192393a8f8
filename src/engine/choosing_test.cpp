#include <gtest/gtest.h>

#include <algorithm>

#include <zllm/engine/scheduler_fixture_test-inl.h>

namespace zllm::engine {
namespace {

std::vector<TokenId> answer(Request request) {
  SchedulerBench<hashed::PagedModel> bench;
  Asked asked = bench.ask(std::move(request));
  bench.run();
  asked.read();
  EXPECT_EQ(asked.failure(), "");
  return asked.tokens[0];
}

TEST(Choosing, NeverTakesPaddingOfTheVocabulary) {
  Request request = plain_request(some_tokens(10, 1), 40, 2);
  request.vocabulary = 5;  // of the model's 24
  std::ranges::transform(request.prompt, request.prompt.begin(),
                         [](TokenId token) { return token % 5; });
  EXPECT_LT(std::ranges::max(answer(std::move(request))), 5);
}

TEST(Choosing, TheSeedDecides) {
  const std::vector<TokenId> first = answer(plain_request(some_tokens(10, 1), 20, 42));
  EXPECT_EQ(answer(plain_request(some_tokens(10, 1), 20, 42)), first);
  EXPECT_NE(answer(plain_request(some_tokens(10, 1), 20, 43)), first);
}

}  // namespace
}  // namespace zllm::engine
