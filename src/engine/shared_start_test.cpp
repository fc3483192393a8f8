#include <gtest/gtest.h>

#include <type_traits>
#include <vector>

#include <zllm/engine/scheduler_fixture_test-inl.h>

// Requests whose prompts start alike, one after the other.
namespace zllm::engine {
namespace {

template <class Model>
class SharedStart : public testing::Test {
 protected:
  std::uint64_t cached_of(std::size_t start, std::uint64_t seed) {
    std::vector<TokenId> prompt = some_tokens(start, 1);
    const std::vector<TokenId> rest = some_tokens(200, seed);
    prompt.insert(prompt.end(), rest.begin(), rest.end());
    const Request request = plain_request(prompt, 5, seed);
    Asked asked = bench_.ask(plain_request(prompt, 5, seed));
    bench_.run();
    asked.read();
    EXPECT_EQ(asked.tokens[0], alone<Model>(request, 0, kSizes).tokens);
    return asked.prompt_read->cached_tokens;
  }

  static constexpr hashed::Sizes kSizes = {.pages = 1000, .context = 1000};
  SchedulerBench<Model> bench_{kSizes};
};
using Models = testing::Types<hashed::PagedModel, hashed::RecurrentModel>;
TYPED_TEST_SUITE(SharedStart, Models);

// The second finds a quarter of the first's prompt, the third the anchor before they part.
TYPED_TEST(SharedStart, IsTakenFromTheCache) {
  constexpr bool kIsRecurrent = std::is_same_v<TypeParam, hashed::RecurrentModel>;
  constexpr std::uint64_t kStart = 4 * kAnchorRows + 20;  // of 476: quarters at 64, 192 and 320
  EXPECT_EQ(this->cached_of(kStart, 11), 0u);
  const std::uint64_t second = this->cached_of(kStart, 12);
  const std::uint64_t third = this->cached_of(kStart, 13);
  EXPECT_GE(second, kIsRecurrent ? 3 * kAnchorRows : kStart);
  EXPECT_GE(third, kIsRecurrent ? 4 * kAnchorRows : kStart);
}

}  // namespace
}  // namespace zllm::engine
