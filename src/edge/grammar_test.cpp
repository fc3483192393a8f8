#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <zllm/edge/grammar.h>

namespace zllm::edge {
namespace {

constexpr TokenId kEnd = 256;
constexpr TokenId kTrue = 257;
constexpr TokenId kControl = 258;

// The 256 bytes, an end of sequence, "true", and a control token spelled "true" too.
TokenTables tables() {
  TokenTables out;
  const auto add = [&](const std::string& bytes, int flags) {
    out.bytes += bytes;
    out.ends.push_back(static_cast<std::uint32_t>(out.bytes.size()));
    out.flags += static_cast<char>(flags);
  };
  for (int byte = 0; byte < 256; ++byte) {
    add(std::string(1, static_cast<char>(byte)), EDGE_TOKEN_KNOWN);
  }
  add("<end>", EDGE_TOKEN_KNOWN | EDGE_TOKEN_SPECIAL);
  add("true", EDGE_TOKEN_KNOWN);
  add("true", EDGE_TOKEN_KNOWN | EDGE_TOKEN_SPECIAL);
  return out;
}

Grammar make(GrammarKind kind, std::string_view source) {
  const GrammarVocabulary vocabulary = *GrammarVocabulary::create(tables(), kEnd);
  return *Grammar::compile(vocabulary, kind, source);
}

bool allows(Grammar& grammar, TokenId id) {
  const std::vector<std::uint32_t> mask = *grammar.mask();
  const auto index = static_cast<std::size_t>(id);
  return ((mask.at(index / 32) >> (index % 32)) & 1U) != 0;
}

void consume(Grammar& grammar, std::string_view text) {
  for (const char c : text) {
    ASSERT_TRUE(grammar.consume(static_cast<unsigned char>(c)).ok()) << c;
  }
}

TEST(Grammar, ARegexAllowsWhatItMatches) {
  Grammar grammar = make(GrammarKind::regex, "ab+");
  EXPECT_TRUE(allows(grammar, 'a'));
  EXPECT_FALSE(allows(grammar, 'b'));
  EXPECT_EQ(grammar.mask()->size(), (259 + 31) / 32U);
  consume(grammar, "ab");
  EXPECT_TRUE(*grammar.accepts());
  EXPECT_TRUE(allows(grammar, kEnd));
  EXPECT_TRUE(allows(grammar, 'b'));
}

TEST(Grammar, AJsonSchemaForcesAndAllows) {
  Grammar grammar =
      make(GrammarKind::json_schema, R"({"type":"object","properties":{"ok":{"type":"boolean"}},)"
                                     R"("required":["ok"],"additionalProperties":false})");
  consume(grammar, "{\"ok\":");
  EXPECT_TRUE(allows(grammar, kTrue));
  EXPECT_FALSE(allows(grammar, kControl));
  EXPECT_TRUE(grammar.consume(kTrue).ok());
  EXPECT_FALSE(*grammar.accepts());
  consume(grammar, "}");
  EXPECT_TRUE(*grammar.accepts());
}

TEST(Grammar, ARefusedTokenChangesNothingAndRollbackGoesBack) {
  Grammar grammar = make(GrammarKind::lark, "start: \"abc\" | \"abd\"");
  EXPECT_EQ(*grammar.forced_bytes(), "ab");
  consume(grammar, "ab");
  EXPECT_FALSE(grammar.consume('x').ok());
  EXPECT_FALSE(grammar.consume(100000).ok());
  EXPECT_TRUE(allows(grammar, 'd'));
  consume(grammar, "d");
  EXPECT_TRUE(*grammar.accepts());
  EXPECT_TRUE(grammar.rollback(1).ok());
  EXPECT_FALSE(*grammar.accepts());
  EXPECT_TRUE(allows(grammar, 'c'));
}

TEST(Grammar, BadSourcesAreErrors) {
  const GrammarVocabulary vocabulary = *GrammarVocabulary::create(tables(), kEnd);
  EXPECT_FALSE(Grammar::compile(vocabulary, GrammarKind::regex, "(a").ok());
  EXPECT_FALSE(Grammar::compile(vocabulary, GrammarKind::json_schema, "{\"type\":").ok());
  EXPECT_FALSE(Grammar::compile(vocabulary, GrammarKind::json_schema, "{\"type\":\"x\"}").ok());
  EXPECT_FALSE(Grammar::compile(vocabulary, GrammarKind::lark, "start: b").ok());
  EXPECT_FALSE(Grammar::compile(vocabulary, GrammarKind::regex, std::string(5 << 20, 'a')).ok());
  EXPECT_FALSE(GrammarVocabulary::create(tables(), 1000).ok());
}

}  // namespace
}  // namespace zllm::edge
