#include <gtest/gtest.h>

#include <string>

#include <zllm/text/fence/fence_factory.h>
#include <zllm/text/fence/gbnf.h>
#include <zllm/text/fence/walk_test-inl.h>

namespace zllm::text {
namespace {

bool accepts(std::string_view grammar, std::string_view text) {
  static const Tokenizer tokenizer = testing::small_tokenizer("byte_level");
  static const FenceFactory factory = testing::factory_of(tokenizer, {"<|im_end|>"});
  const auto fence =
      factory.make({.constraint = Constraint{ConstraintKind::gbnf, std::string(grammar)}});
  EXPECT_TRUE(fence.ok()) << fence.error().message;
  return fence.ok() && testing::advance_by(**fence, tokenizer, text, true).ok() &&
         testing::may_end(**fence, *tokenizer.id_of("<|im_end|>"));
}

std::string refusal(std::string_view grammar) {
  const Result<std::string> lark = gbnf_to_lark(grammar);
  return lark.ok() ? "accepted" : lark.error().message;
}

TEST(Gbnf, LiteralsSetsAndRepetitions) {
  EXPECT_TRUE(accepts("root ::= \"yes\" | \"no\"", "no"));
  EXPECT_FALSE(accepts("root ::= \"yes\" | \"no\"", "ye"));
  EXPECT_TRUE(accepts("root ::= [a-c]{2,3} [^x]?", "abc!"));
  EXPECT_FALSE(accepts("root ::= [a-c]{2,3} [^x]?", "abx"));
  EXPECT_TRUE(accepts("root ::= \"a\"{2,} \"b\"{2}", "aaabb"));
  EXPECT_FALSE(accepts("root ::= \"a\"{2,} \"b\"{2}", "abb"));
  EXPECT_TRUE(accepts("root ::= .* \"\\n\"", "a\nb\n"));
  EXPECT_TRUE(accepts("root ::= \"\\x41\\u0042\\U00000043\\\"\\\\\" [\\]\\-]", "ABC\"\\]"));
  EXPECT_TRUE(accepts("root ::= [\xc3\xa0-\xc3\xbc]", "\xc3\xa9"));
  EXPECT_TRUE(accepts("root ::= \"\"", ""));
}

TEST(Gbnf, RulesThatComeBackToThemselves) {
  constexpr std::string_view kSum =
      "root ::= expr \"\\n\"\n"
      "expr ::= term (\"+\" term)*  # a sum\n"
      "term ::= num | \"(\" expr \")\"\n"
      "num ::= [0-9]+ ws\n"
      "ws ::= [ \\t]*\n";
  EXPECT_TRUE(accepts(kSum, "1+(2 +33)\n"));
  EXPECT_FALSE(accepts(kSum, "1+()\n"));
  EXPECT_FALSE(accepts(kSum, "1+2"));
  EXPECT_TRUE(accepts("root ::= \"a\" | root \"b\"", "abb"));
  EXPECT_TRUE(accepts("root ::= ws \"a\" ws root?\nws ::= [ ]*", " a a"));
}

// A lexer that takes the longest piece would lose these.
TEST(Gbnf, ChoicesThatBeginAlike) {
  EXPECT_TRUE(accepts("root ::= \"a\" | \"ab\" \"c\" | \"a\" \"bd\"", "abd"));
  constexpr std::string_view kNested =
      "root ::= x \".\" | \"(\" root \")\"\nx ::= \"a\" | \"ab\" | \"ab\" \"c\"";
  for (const std::string_view text : {"(a.)", "(ab.)", "((abc.))"}) {
    EXPECT_TRUE(accepts(kNested, text)) << text;
  }
}

TEST(Gbnf, RulesOverLines) {
  constexpr std::string_view kGrammar =
      "root ::= a\na ::=\n  \"x\" (\n  \"1\" |\n \"2\"\n)\n  | \"y\"\n\n#\n";
  EXPECT_TRUE(accepts(kGrammar, "x2"));
  EXPECT_TRUE(accepts(kGrammar, "y"));
}

TEST(Gbnf, ErrorsNameTheLine) {
  for (const auto& [grammar, message] : std::vector<std::pair<std::string, std::string>>{
           {"root ::= \"a\" foo", "line 1: there is no rule 'foo'"},
           {"a ::= \"a\"", "no rule 'root'"},
           {"root := \"a\"", "line 1: '::=' is expected after 'root'"},
           {"root ::= \"a\"\nroot ::= \"b\"", "line 2: there is a second rule 'root'"},
           {"root ::= \"a", "a literal does not end"},
           {"root ::= [a", "a set of characters does not end"},
           {"root ::= []", "a set of characters is empty"},
           {"root ::= [b-a]", "ends before it starts"},
           {"root ::= (\"a\"", "')' is expected"},
           {"root ::= *", "follows nothing"},
           {"root ::= \"a\"{3,2}", "with m <= n"},
           {"root ::= \"a\"{9999}", "a count of at most"},
           {"root ::= \"\\q\"", "there is no escape"},
           {"root ::= \"\\ud800\"", "no character"},
           {"root ::= <think>", "not supported"},
           {"root ::= \"a\" )", "is not expected here"},
           {"root ::= " + std::string(200, '('), "nested deeper"},
           {"root ::= \"\xff\"", "not valid UTF-8"}}) {
    EXPECT_NE(refusal(grammar).find(message), std::string::npos) << refusal(grammar);
  }
}

}  // namespace
}  // namespace zllm::text
