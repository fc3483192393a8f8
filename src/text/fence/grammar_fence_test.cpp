#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include <zllm/text/fence/exact_tokens.h>
#include <zllm/text/fence/fence_factory.h>
#include <zllm/text/fence/walk_test-inl.h>

namespace zllm::text {
namespace {

constexpr std::string_view kSchema =
    R"({"type":"object","properties":{"temperature":{"type":"integer"},"unit":{"enum":["celsius",)"
    R"("kelvin"]}},"required":["temperature","unit"],"additionalProperties":false})";

struct Setting {
  Tokenizer tokenizer;
  FenceFactory factory;
  std::vector<TokenId> ends;
};

Setting byte_level() {
  const Tokenizer tokenizer = testing::small_tokenizer("byte_level");
  return {tokenizer,
          testing::factory_of(tokenizer, {"<|im_end|>", "<|endoftext|>"}),
          {*tokenizer.id_of("<|im_end|>"), *tokenizer.id_of("<|endoftext|>")}};
}

std::unique_ptr<engine::Fence> make(const Setting& setting, ConstraintKind kind,
                                    std::string_view source) {
  auto fence = setting.factory.make({.constraint = Constraint{kind, std::string(source)}});
  EXPECT_TRUE(fence.ok()) << fence.error().message;
  return *std::move(fence);
}

std::vector<std::uint32_t> mask_of(engine::Fence& fence) {
  const std::span<const std::uint32_t> mask = *fence.mask();
  return {mask.begin(), mask.end()};
}

TEST(GrammarFence, AllEndTokensMayComeExactlyWhereTheTextMayEnd) {
  const Setting setting = byte_level();
  const auto fence = make(setting, ConstraintKind::regex, "ab+");
  for (const TokenId end : setting.ends) {
    EXPECT_FALSE(has_token(mask_of(*fence), end));
  }
  ASSERT_TRUE(testing::advance_by(*fence, setting.tokenizer, "ab", true).ok());
  for (const TokenId end : setting.ends) {
    EXPECT_TRUE(has_token(mask_of(*fence), end));
    EXPECT_FALSE(fence->advance(end).ok());
  }
  EXPECT_FALSE(fence->is_finished());
  EXPECT_EQ(mask_of(*fence).size(), mask_words(setting.tokenizer.vocabulary_size()));
  EXPECT_FALSE(fence->advance(-1).ok());
  EXPECT_FALSE(fence->advance(1 << 20).ok());
  EXPECT_TRUE(fence->advance(setting.tokenizer.encode("b")->front()).ok());
}

TEST(GrammarFence, AFinishedAnswerAllowsNothingButItsEnd) {
  const Setting setting = byte_level();
  const auto fence = make(setting, ConstraintKind::json_schema, R"({"type":"boolean"})");
  EXPECT_FALSE(fence->is_finished());
  ASSERT_TRUE(testing::advance_by(*fence, setting.tokenizer, "true", true).ok());
  EXPECT_TRUE(fence->is_finished());
  EXPECT_TRUE(fence->forced()->empty());
  const std::vector<std::uint32_t> mask = mask_of(*fence);
  for (TokenId id = 0; id < static_cast<TokenId>(setting.tokenizer.vocabulary_size()); ++id) {
    EXPECT_EQ(has_token(mask, id), id == setting.ends[0] || id == setting.ends[1]) << id;
  }
  ASSERT_TRUE(fence->rollback(1).ok());
  EXPECT_FALSE(fence->is_finished());
}

TEST(GrammarFence, AGrammarBeyondItsBoundsIsTheRequestsFault) {
  const Setting setting = byte_level();
  const auto fence = make(setting, ConstraintKind::regex, "((a{1000}){1000}){1000}");
  const TokenId token = setting.tokenizer.encode("a")->front();
  Status status = fence->mask().ok() ? Status() : Status(fence->mask().error());
  for (int i = 0; i < 8 && status.ok(); ++i) {
    status = fence->advance(token);
  }
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::unsupported);
  EXPECT_NE(status.error().message.find("the answer's grammar"), std::string::npos);
}

TEST(GrammarFence, RollbackAndClonesComeToTheSameMasks) {
  const Setting setting = byte_level();
  std::mt19937 random(11);
  for (int round = 0; round < 20; ++round) {
    const auto fence = make(setting, ConstraintKind::json_schema, kSchema);
    const auto fresh = fence->clone();
    const testing::Walk first = testing::walk(*fence, setting.tokenizer, random, 12);
    const auto copy = fence->clone();
    const testing::Walk ahead = testing::walk(*fence, setting.tokenizer, random, 6);
    ASSERT_TRUE(fence->rollback(ahead.tokens.size()).ok());
    EXPECT_EQ(mask_of(*fence), mask_of(*copy));
    for (const TokenId token : first.tokens) {
      ASSERT_TRUE(fresh->advance(token).ok());
    }
    EXPECT_EQ(mask_of(*fresh), mask_of(*copy));
    EXPECT_EQ(fresh->is_finished(), copy->is_finished());
    EXPECT_FALSE(fence->rollback(first.tokens.size() + 1).ok());
  }
}

TEST(GrammarFence, ForcedTokensAreWhatTheOnlyWayOnSpells) {
  const Setting setting = byte_level();
  const auto fence = make(setting, ConstraintKind::json_schema, kSchema);
  ASSERT_TRUE(testing::advance_by(*fence, setting.tokenizer, "{\"te", true).ok());
  const std::vector<TokenId> forced = *fence->forced();
  ASSERT_FALSE(forced.empty());
  const std::string spelled = *setting.tokenizer.decode(forced);
  EXPECT_TRUE(std::string("mperature\": ").starts_with(spelled)) << spelled;
  // The same tokens come when each is chosen by itself.
  const auto other = fence->clone();
  for (const TokenId token : forced) {
    EXPECT_TRUE(has_token(mask_of(*other), token));
    ASSERT_TRUE(other->advance(token).ok());
  }
  EXPECT_EQ(*setting.tokenizer.encode(spelled), forced);
}

TEST(GrammarFence, ForcedTokensLeaveOpenWhatMayGoOn) {
  const Setting setting = byte_level();
  const auto fence = make(setting, ConstraintKind::regex, "the [a-z]+");
  const std::vector<TokenId> natural = *setting.tokenizer.encode("the cat");
  const std::vector<TokenId> forced = *fence->forced();
  ASSERT_LT(forced.size(), natural.size());
  EXPECT_TRUE(std::equal(forced.begin(), forced.end(), natural.begin()));
}

TEST(GrammarFence, WalksOfEveryKindOfGrammarEndWithinIt) {
  const Setting setting = byte_level();
  struct Case {
    ConstraintKind kind;
    std::string source;
    std::string alphabet;
  };
  std::mt19937 random(5);
  for (const Case& one : std::vector<Case>{
           {ConstraintKind::regex, "^[ab]{3,9}$", "ab"},
           {ConstraintKind::lark, "start: (\"a\" | \"b\" pair)+\npair: \"(\" pair? \")\"", "ab()"},
           {ConstraintKind::gbnf, "root ::= [ab]+ (\"(\" root \")\")? # comment", "ab()"}}) {
    for (int round = 0; round < 10; ++round) {
      const auto fence = make(setting, one.kind, one.source);
      const testing::Walk made = testing::walk(*fence, setting.tokenizer, random);
      EXPECT_EQ(made.text.find_first_not_of(one.alphabet), std::string::npos) << made.text;
    }
  }
}

TEST(GrammarFence, BadGrammarsAreErrorsAndTheNextOneWorks) {
  const Setting setting = byte_level();
  for (const auto& [kind, source] : std::vector<std::pair<ConstraintKind, std::string>>{
           {ConstraintKind::regex, "(a"},
           {ConstraintKind::regex, "(?<=a)*"},
           {ConstraintKind::regex, "[^\\s\\S]"},
           {ConstraintKind::regex, std::string(200, '(') + std::string(200, ')')},
           {ConstraintKind::lark, "start: b"},
           {ConstraintKind::lark, "start: " + std::string(5000, '(') + "\"a\""},
           {ConstraintKind::lark, "start: start"},
           {ConstraintKind::gbnf, "root ::= root"},
           {ConstraintKind::gbnf, ""}}) {
    const auto fence = setting.factory.make({.constraint = Constraint{kind, source}});
    ASSERT_FALSE(fence.ok()) << source;
    EXPECT_EQ(fence.error().message.find('\n'), std::string::npos) << fence.error().message;
  }
  make(setting, ConstraintKind::regex, "^(.*)$");
  make(setting, ConstraintKind::regex, "^(|.*)$");
}

TEST(GrammarFence, NothingToConstrainIsNoFence) {
  const Setting setting = byte_level();
  EXPECT_EQ(*setting.factory.make({}), nullptr);
  EXPECT_EQ(*setting.factory.make({.thinking = Thinking{.is_open = true, .end = "</think>"}}),
            nullptr);
  EXPECT_FALSE(FenceFactory::create(setting.tokenizer, {}).ok());
}

TEST(ExactTokens, SpellTheTextWhateverTheTokenizerPutsBeforeTexts) {
  for (const std::string name : {"byte_level", "space_marked"}) {
    const Tokenizer tokenizer = testing::small_tokenizer(name);
    for (const std::string text : {"hello", " hello", "\"a\":", "\n\n", "x</think>"}) {
      std::string spelled;
      for (const TokenId id : exact_tokens(tokenizer, text)) {
        spelled += tokenizer.token_bytes(id);
      }
      EXPECT_EQ(spelled, text) << name;
    }
    EXPECT_TRUE(exact_tokens(tokenizer, "\xff").empty());
  }
}

}  // namespace
}  // namespace zllm::text
