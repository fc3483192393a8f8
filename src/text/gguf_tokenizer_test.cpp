#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include <zllm/text/tokenizer.h>

namespace zllm::text {
namespace {

constexpr std::int64_t kNormal = 1;
constexpr std::int64_t kUnknown = 2;
constexpr std::int64_t kControl = 3;
constexpr std::int64_t kUserDefined = 4;

// A byte-level vocabulary of a few letters, whole and right; tests break one entry each.
struct ByteLevel {
  std::vector<std::string_view> tokens{"a", "b", "ab", "c", "<|end|>", "<tool>", "abc"};
  std::vector<std::int64_t> types{kNormal,  kNormal,      kNormal, kNormal,
                                  kControl, kUserDefined, kNormal};
  std::vector<double> scores;
  std::vector<std::string_view> merges{"a b", "ab c"};
  GgufVocabulary vocabulary{.model = "gpt2", .pre_tokenizer = "gpt-2"};

  Result<Tokenizer> load() {
    vocabulary.tokens = tokens;
    vocabulary.types = types;
    vocabulary.scores = scores;
    vocabulary.merges = merges;
    return Tokenizer::from_gguf(vocabulary);
  }
  void refused(std::string_view word) {
    const Result<Tokenizer> tokenizer = load();
    ASSERT_FALSE(tokenizer.ok()) << word;
    EXPECT_NE(tokenizer.error().message.find(word), std::string::npos) << tokenizer.error().message;
  }
};

TEST(GgufTokenizer, MergesInOrderAndKeepsControlTokensApart) {
  const Tokenizer tokenizer = *ByteLevel{}.load();
  EXPECT_EQ(*tokenizer.encode("abcab"), (std::vector<TokenId>{6, 2}));
  EXPECT_EQ(*tokenizer.encode("a<|end|>b", {.parse_special = true}),
            (std::vector<TokenId>{0, 4, 1}));
  EXPECT_EQ(*tokenizer.encode("a<|end|>b"), (std::vector<TokenId>{0, 1}));
  EXPECT_EQ(*tokenizer.encode("a<tool>b"), (std::vector<TokenId>{0, 5, 1}));
  EXPECT_TRUE(tokenizer.is_special(4));
  EXPECT_FALSE(tokenizer.is_special(5));
}

TEST(GgufTokenizer, NeverGuessesThePreTokenizer) {
  ByteLevel absent;
  absent.vocabulary.pre_tokenizer.reset();
  absent.refused("tokenizer.ggml.pre");
  absent.vocabulary.pre_tokenizer_override = "gpt-2";
  EXPECT_TRUE(absent.load().ok());
  ByteLevel odd;
  odd.vocabulary.pre_tokenizer = "gpt-9";
  odd.refused("gpt-9");
  ByteLevel vague;
  vague.vocabulary.pre_tokenizer = "default";
  EXPECT_FALSE(vague.load()->warnings().empty());
}

TEST(GgufTokenizer, RefusesContradictions) {
  ByteLevel types;
  types.types.pop_back();
  types.refused("token_type");
  ByteLevel scores;
  scores.scores = {1.0};
  scores.refused("scores");
  ByteLevel twice;
  twice.tokens[3] = "a";
  twice.refused("tokens[3]");
  ByteLevel stranger;
  stranger.merges.push_back("a z");
  stranger.refused("merges[2]");
  ByteLevel unjoined;
  unjoined.merges.push_back("b a");
  unjoined.refused("\"ba\"");
  ByteLevel whole;
  whole.merges.push_back("ab");
  whole.refused("merges[2]");
  ByteLevel text;
  text.tokens[0] = "\xff";
  text.refused("tokens[0]");
  ByteLevel type;
  type.types[1] = 7;
  type.refused("token_type[1]");
  ByteLevel none;
  none.merges.clear();
  none.refused("merges");
  ByteLevel empty;
  empty.tokens.clear();
  empty.types.clear();
  empty.refused("tokens");
  ByteLevel model;
  model.vocabulary.model = "bert";
  model.refused("bert");
}

TEST(GgufTokenizer, RefusesBeginAndEndBeyondTheVocabularyAndWarnsOfOthers) {
  ByteLevel begin;
  begin.vocabulary.begin_of_sequence = 7;
  begin.refused("bos_token_id");
  ByteLevel end;
  end.vocabulary.end_of_sequence = std::numeric_limits<std::uint64_t>::max();
  end.refused("eos_token_id");
  ByteLevel padding;
  padding.vocabulary.padding = 7;
  EXPECT_EQ(padding.load()->warnings().size(), 1U);
}

TEST(GgufTokenizer, BeginsOnceWhenTheFileSaysSo) {
  ByteLevel file;
  file.vocabulary.begin_of_sequence = 4;
  EXPECT_TRUE(file.load()->begin_tokens().empty());
  file.vocabulary.add_begin = true;
  EXPECT_EQ(*file.load()->encode_prompt("a"), (std::vector<TokenId>{4, 0}));
  EXPECT_EQ(*file.load()->encode_prompt("<|end|>a"), (std::vector<TokenId>{4, 0}));
}

TEST(GgufTokenizer, JoinsByScoreAndFallsBackToBytes) {
  const std::vector<std::string_view> tokens{"<unk>",   "<s>", "\u2581", "a",      "b",     "ab",
                                             "\u2581a", "ba",  "</s>",   "<0xC3>", "<0xA9>"};
  const std::vector<std::int64_t> types{kUnknown, kControl, 1, 1, 1, 1, 1, 1, kControl, 6, 6};
  const std::vector<double> scores{0, 0, -9, -9, -9, -1, -2, -3, 0, 0, 0};
  GgufVocabulary vocabulary{.model = "llama", .tokens = tokens, .scores = scores, .types = types};
  vocabulary.begin_of_sequence = 1;
  const Tokenizer tokenizer = *Tokenizer::from_gguf(vocabulary);
  EXPECT_EQ(*tokenizer.encode("ab"), (std::vector<TokenId>{2, 5}));
  EXPECT_EQ(*tokenizer.encode("aa"), (std::vector<TokenId>{6, 3}));
  EXPECT_EQ(*tokenizer.encode("a\u00e9"), (std::vector<TokenId>{6, 9, 10}));
  EXPECT_EQ(*tokenizer.encode("zq"), (std::vector<TokenId>{2, 0}));
  EXPECT_EQ(*tokenizer.decode(*tokenizer.encode("a\u00e9 b")), "a\u00e9 b");
  EXPECT_EQ(tokenizer.encode_prompt("a")->front(), 1);
  std::vector<double> broken = scores;
  broken[3] = std::numeric_limits<double>::quiet_NaN();
  vocabulary.scores = broken;
  EXPECT_FALSE(Tokenizer::from_gguf(vocabulary).ok());
}

}  // namespace
}  // namespace zllm::text
