#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <zllm/base/utf8.h>
#include <zllm/text/detokenizer.h>
#include <zllm/text/tokenizer.h>

namespace zllm::text {
namespace {

Tokenizer small(const std::string& name) {
  std::ifstream file("test/fixtures/text/" + name + ".tokenizer.json", std::ios::binary);
  const std::string json{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return *Tokenizer::from_json(json);
}

TEST(Tokenizer, TypedTextNeverBecomesControlTokens) {
  const Tokenizer tokenizer = small("byte_level");
  const TokenId end = *tokenizer.id_of("<|im_end|>");
  for (const std::string text : {"<|im_end|>", "a<|im_end|>b", "<|im_end|><|im_start|>"}) {
    const std::vector<TokenId> plain = *tokenizer.encode(text);
    EXPECT_TRUE(std::none_of(plain.begin(), plain.end(),
                             [&](TokenId id) { return tokenizer.is_special(id); }));
    EXPECT_EQ(*tokenizer.decode(plain), text);
    const std::vector<TokenId> parsed = *tokenizer.encode(text, {.parse_special = true});
    EXPECT_NE(std::find(parsed.begin(), parsed.end(), end), parsed.end());
  }
}

TEST(Tokenizer, APromptBeginsOnce) {
  const Tokenizer tokenizer = small("byte_level");
  const TokenId begin = *tokenizer.id_of("<|endoftext|>");
  EXPECT_EQ(tokenizer.encode_prompt("hi")->front(), begin);
  EXPECT_EQ(*tokenizer.encode_prompt("<|endoftext|>hi"), *tokenizer.encode_prompt("hi"));
  EXPECT_NE(tokenizer.encode("hi")->front(), begin);
  EXPECT_NE(tokenizer.with_begin(begin, false).encode_prompt("hi")->front(), begin);
}

TEST(Tokenizer, RefusesWhatIsNoText) {
  const Tokenizer tokenizer = small("byte_level");
  EXPECT_FALSE(tokenizer.encode("\xff").ok());
  EXPECT_FALSE(tokenizer.decode(std::vector<TokenId>{-1}).ok());
  EXPECT_FALSE(tokenizer.decode(std::vector<TokenId>{1 << 20}).ok());
  EXPECT_FALSE(Tokenizer::from_json("{}").ok());
  EXPECT_FALSE(Tokenizer::from_json("").ok());
}

TEST(Tokenizer, SkipsControlTokensOnRequest) {
  const Tokenizer tokenizer = small("byte_level");
  const auto ids = *tokenizer.encode("<|im_start|>hi<|im_end|>", {.parse_special = true});
  EXPECT_EQ(*tokenizer.decode(ids), "<|im_start|>hi<|im_end|>");
  EXPECT_EQ(*tokenizer.decode(ids, {.skip_special = true}), "hi");
}

TEST(Detokenizer, EveryPieceIsValidAndAllTogetherAreTheWhole) {
  std::mt19937 random(3);
  for (const std::string name : {"byte_level", "space_marked"}) {
    const Tokenizer tokenizer = small(name);
    for (int round = 0; round < 300; ++round) {
      std::vector<TokenId> ids(random() % 30);
      for (TokenId& id : ids) {
        // Half of them from the bytes, so that characters break in every way.
        const std::size_t range = random() % 2 == 0 ? 260 : tokenizer.vocabulary_size();
        id = static_cast<TokenId>(random() % range);
      }
      Detokenizer detokenizer(tokenizer, Detokenizer::Start::text);
      std::string pieces;
      for (const TokenId id : ids) {
        const std::string piece = detokenizer.add(id);
        EXPECT_TRUE(is_valid_utf8(piece));
        pieces += piece;
      }
      pieces += detokenizer.flush();
      EXPECT_TRUE(is_valid_utf8(pieces));
      EXPECT_EQ(pieces, *tokenizer.decode(ids));
    }
  }
}

TEST(Detokenizer, HoldsACharacterBackUntilItIsComplete) {
  const Tokenizer tokenizer = small("space_marked");
  Detokenizer detokenizer(tokenizer);
  EXPECT_EQ(detokenizer.add(*tokenizer.id_of("<0xF0>")), "");
  EXPECT_EQ(detokenizer.add(*tokenizer.id_of("<0x9F>")), "");
  EXPECT_EQ(detokenizer.add(*tokenizer.id_of("<0x98>")), "");
  EXPECT_EQ(detokenizer.add(*tokenizer.id_of("<0x80>")), "\xF0\x9F\x98\x80");
  EXPECT_EQ(detokenizer.add(*tokenizer.id_of("<0xE2>")), "");
  EXPECT_EQ(detokenizer.add(*tokenizer.id_of("a")),
            "\xEF\xBF\xBD"
            "a");
  EXPECT_EQ(detokenizer.add(*tokenizer.id_of("<0xE2>")), "");
  EXPECT_EQ(detokenizer.flush(), "\xEF\xBF\xBD");
}

}  // namespace
}  // namespace zllm::text
