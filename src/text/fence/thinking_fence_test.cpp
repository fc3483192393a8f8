#include <gtest/gtest.h>

#include <random>
#include <string>

#include <zllm/base/json.h>
#include <zllm/text/fence/fence_factory.h>
#include <zllm/text/fence/marker.h>
#include <zllm/text/fence/walk_test-inl.h>

namespace zllm::text {
namespace {

constexpr std::string_view kSchema =
    R"({"type":"object","properties":{"a":{"type":"boolean"}},"required":["a"]})";

const Tokenizer& tokenizer() {
  static const Tokenizer made = testing::small_tokenizer("byte_level");
  return made;
}

TokenId end_token() { return *tokenizer().id_of("<|im_end|>"); }

std::unique_ptr<engine::Fence> make(Thinking thinking, bool constrains) {
  static const FenceFactory factory = testing::factory_of(tokenizer(), {"<|im_end|>"});
  FenceSpec spec{.thinking = std::move(thinking)};
  if (constrains) {
    spec.constraint = Constraint{ConstraintKind::json_schema, std::string(kSchema)};
  }
  auto fence = factory.make(spec);
  EXPECT_TRUE(fence.ok()) << fence.error().message;
  return *std::move(fence);
}

Thinking open_thinking(std::optional<std::uint64_t> budget = {}) {
  return {.is_open = true, .begin = "<think>", .end = "</think>", .budget = budget};
}

Status say(engine::Fence& fence, std::string_view text) {
  return testing::advance_by(fence, tokenizer(), text, true);
}

bool allows(engine::Fence& fence, TokenId token) {
  const std::span<const std::uint32_t> mask = *fence.mask();
  return mask.empty() || has_token(mask, token);
}

bool allows(engine::Fence& fence, char c) {
  return allows(fence, tokenizer().encode(std::string(1, c))->front());
}

TEST(ThinkingFence, NothingIsConstrainedUntilReasoningEnds) {
  const auto fence = make(open_thinking(), true);
  EXPECT_TRUE(allows(*fence, 'x'));
  EXPECT_FALSE(allows(*fence, end_token()));
  EXPECT_FALSE(fence->advance(end_token()).ok());
  ASSERT_TRUE(say(*fence, "well <thi </th </think>\n\n").ok());
  EXPECT_FALSE(allows(*fence, 'x'));
  EXPECT_FALSE(say(*fence, "x").ok());
  ASSERT_TRUE(say(*fence, "{\"a\": true}").ok());
  EXPECT_TRUE(fence->is_finished());
  EXPECT_TRUE(allows(*fence, end_token()));
}

TEST(ThinkingFence, TheGapIsShort) {
  const auto fence = make(open_thinking(), true);
  ASSERT_TRUE(say(*fence, "</think>\n\n\n\n").ok());
  EXPECT_FALSE(allows(*fence, '\n'));
  EXPECT_TRUE(allows(*fence, '{'));
}

TEST(ThinkingFence, ATokenThatEndsReasoningBringsNoAnswerAlong) {
  const auto fence = make(open_thinking(), true);
  std::mt19937 random(3);
  for (int round = 0; round < 5; ++round) {
    ASSERT_TRUE(say(*fence, "a </think").ok());
    for (TokenId id = 0; id < static_cast<TokenId>(tokenizer().vocabulary_size()); ++id) {
      const bool may = allows(*fence, id);
      EXPECT_EQ(may, fence->clone()->advance(id).ok()) << tokenizer().token_bytes(id);
    }
    ASSERT_TRUE(say(*fence, " b").ok());
  }
}

TEST(ThinkingFence, ABudgetForcesTheEnd) {
  for (const bool constrains : {false, true}) {
    const auto fence = make(open_thinking(5), constrains);
    ASSERT_TRUE(say(*fence, "abcd").ok());
    EXPECT_TRUE(fence->forced()->empty());
    ASSERT_TRUE(say(*fence, "e").ok());
    std::string spelled;
    const std::vector<TokenId> forced = *fence->forced();
    for (const TokenId token : forced) {
      EXPECT_TRUE(allows(*fence, token));
      EXPECT_FALSE(allows(*fence, 'x'));
      ASSERT_TRUE(fence->advance(token).ok());
      spelled += tokenizer().token_bytes(token);
    }
    EXPECT_EQ(spelled, "</think>");
    EXPECT_EQ(allows(*fence, 'x'), !constrains);
    ASSERT_TRUE(fence->rollback(forced.size()).ok());
    EXPECT_EQ(*fence->forced(), forced);
    ASSERT_TRUE(fence->rollback(1).ok());
    EXPECT_TRUE(fence->forced()->empty());
  }
}

TEST(ThinkingFence, ABudgetThatEndsWithinTheMarkerForcesItsRest) {
  const auto fence = make(open_thinking(4), false);
  ASSERT_TRUE(say(*fence, "ab</").ok());
  std::string spelled;
  const std::vector<TokenId> forced = *fence->forced();
  for (const TokenId token : forced) {
    spelled += tokenizer().token_bytes(token);
    ASSERT_TRUE(fence->advance(token).ok());
  }
  EXPECT_EQ(spelled, "think>");
  EXPECT_TRUE(fence->mask()->empty());
  const auto none = make(open_thinking(0), false);
  EXPECT_FALSE(none->forced()->empty());
}

TEST(ThinkingFence, AnAnswerMayBeginWithReasoningOrWithout) {
  Thinking thinking = open_thinking();
  thinking.is_open = false;
  const auto fence = make(thinking, true);
  EXPECT_TRUE(allows(*fence, '{'));
  EXPECT_TRUE(allows(*fence, '<'));
  EXPECT_TRUE(allows(*fence, '\n'));
  EXPECT_FALSE(allows(*fence, 'x'));
  const auto direct = fence->clone();
  ASSERT_TRUE(say(*direct, "{\"a\": false}").ok());
  EXPECT_TRUE(direct->is_finished());
  ASSERT_TRUE(say(*fence, "\n<think>x").ok());
  EXPECT_TRUE(allows(*fence, 'x'));
  EXPECT_FALSE(allows(*fence, end_token()));
  ASSERT_TRUE(say(*fence, "</think>{\"a\": false}").ok());
  EXPECT_TRUE(fence->is_finished());
  ASSERT_TRUE(fence->rollback(20).ok());
  ASSERT_TRUE(say(*fence, "</think>{\"a\":").ok());
  EXPECT_FALSE(fence->is_finished());
}

TEST(ThinkingFence, RollbackOverEveryBorderIsExact) {
  Thinking thinking = open_thinking(12);
  thinking.is_open = false;
  std::mt19937 random(9);
  for (int round = 0; round < 30; ++round) {
    const auto fence = make(thinking, round % 3 != 0);
    const auto replayed = fence->clone();
    const testing::Walk made = testing::walk(*fence, tokenizer(), random, 40);
    const std::size_t back = made.tokens.empty() ? 0 : random() % made.tokens.size();
    ASSERT_TRUE(fence->rollback(back).ok());
    for (std::size_t i = 0; i + back < made.tokens.size(); ++i) {
      ASSERT_TRUE(replayed->advance(made.tokens[i]).ok());
    }
    const std::span<const std::uint32_t> a = *fence->mask();
    const std::span<const std::uint32_t> b = *replayed->mask();
    EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end())) << made.text;
    EXPECT_EQ(*fence->forced(), *replayed->forced());
  }
}

TEST(ThinkingFence, WalksEndInTheAnswerThatIsAsked) {
  std::mt19937 random(4);
  int ended = 0;
  for (int round = 0; round < 20; ++round) {
    const auto fence = make(open_thinking(10), true);
    const testing::Walk made = testing::walk(*fence, tokenizer(), random);
    if (made.has_ended) {
      ++ended;
      const std::string answer = made.text.substr(made.text.find("</think>") + 8);
      EXPECT_TRUE(Json::parse(answer, "answer").ok()) << answer;
    }
  }
  EXPECT_GT(ended, 5);
}

TEST(Marker, FindsWhatOverlapsItself) {
  const Marker marker("aab");
  const Marker::Step step = marker.run(0, "aaaab!");
  EXPECT_TRUE(step.is_found);
  EXPECT_EQ(step.used, 5U);
  EXPECT_EQ(marker.run(0, "aaa").state, 2U);
  EXPECT_TRUE(marker.run(2, "b").is_found);
}

}  // namespace
}  // namespace zllm::text
