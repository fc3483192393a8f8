#include <zllm/text/fence/lark_pattern.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zllm::text {
namespace {

using testing::HasSubstr;

std::string pattern_of(std::string_view grammar) {
  const auto pattern = lark_pattern(grammar);
  EXPECT_TRUE(pattern.ok()) << pattern.error().message;
  return pattern.ok() ? *pattern : std::string();
}

std::string refusal(std::string_view grammar) {
  const auto pattern = lark_pattern(grammar);
  return pattern.ok() ? "accepted: " + *pattern : pattern.error().message;
}

bool derives(const std::string& pattern, std::string_view text) {
  return std::regex_match(std::string(text), std::regex(pattern));
}

TEST(LarkPattern, WordsBecomePatterns) {
  for (const auto& [grammar, pattern] : std::vector<std::pair<std::string_view, std::string_view>>{
           {"start: \"a.b\"", "a\\.b"},
           {"start: \"a\" \"b\"+", "ab+"},
           {"start: \"ab\"+ \"c\"?", "(?:ab)+c?"},
           {"start: \"a\" | \"b\" \"c\"", "a|bc"},
           {"start: (\"a\" | \"b\") \"c\"", "(?:a|b)c"},
           {"start: [\"ab\"] \"c\"", "(?:ab)?c"},
           {"start: \"x\"~3 \"yy\"~1..2 \"z\"{2,}", "x{3}(?:yy){1,2}z{2,}"},
           {"start: \"0\"..\"9\" \"-\"..\"a\"", "[0-9][\\--a]"},
           {"start: \"Ab\"i /c|d/i /e/", "(?i:Ab)(?i:c|d)(?:e)"},
           {"start: \"\\n\\t\\\"\\u00e9\\x41\"", "\\n\\t\"\u00e9A"},
           {"start: \"\u00e9\"*", "\u00e9*"},
           {"start: /a\\/b/ /[\\/)]/", "(?:a/b)(?:[/)])"},
           {"start: \"a\"+?", "(?:a+)?"},
           {"start: \"\"", ""},
           {"start:", ""},
       }) {
    EXPECT_EQ(refusal(grammar), "accepted: " + std::string(pattern));
  }
}

TEST(LarkPattern, RulesArePutIntoEachOther) {
  EXPECT_EQ(pattern_of("// says what\n"
                       "start: pair (\",\" pair)*   # and more\n"
                       "?pair.2: KEY \"=\" value -> named\n"
                       "      | \"(\" (\n"
                       "        KEY) \")\"\n"
                       "\n"
                       "!value: INT | word\n"
                       "KEY: \"k\"+\n"
                       "%import common.INT\n"
                       "%import common (WORD -> word, LF)\n"),
            "(?:k+=(?:[0-9]+|[A-Za-z]+)|\\(k+\\))(?:,(?:k+=(?:[0-9]+|[A-Za-z]+)|\\(k+\\)))*");
}

// As the tool of a well-known coding agent asks for it.
constexpr std::string_view kPatch = R"(start: begin_patch hunk+ end_patch
begin_patch: "*** Begin Patch" LF
end_patch: "*** End Patch" LF?

hunk: add_hunk | delete_hunk | update_hunk
add_hunk: "*** Add File: " filename LF add_line+
delete_hunk: "*** Delete File: " filename LF
update_hunk: "*** Update File: " filename LF change_move? change?

filename: /(.+)/
add_line: "+" /(.*)/ LF -> line

change_move: "*** Move to: " filename LF
change: (change_context | change_line)+ eof_line?
change_context: ("@@" | "@@ " /(.+)/) LF
change_line: ("+" | "-" | " ") /(.*)/ LF
eof_line: "*** End of File" LF

%import common.LF
)";

TEST(LarkPattern, APatchIsOne) {
  const std::string pattern = pattern_of(kPatch);
  EXPECT_TRUE(derives(pattern, "*** Begin Patch\n*** Add File: a/b.txt\n+one\n+\n*** End Patch"));
  EXPECT_TRUE(derives(pattern,
                      "*** Begin Patch\n*** Delete File: x\n*** Update File: y\n*** Move to: z\n"
                      "@@ def f():\n-old\n+new\n same\n*** End of File\n*** End Patch\n"));
  EXPECT_FALSE(derives(pattern, "*** Begin Patch\n*** End Patch"));
  EXPECT_FALSE(derives(pattern, "*** Begin Patch\n*** Add File: a\nline\n*** End Patch"));
  EXPECT_FALSE(derives(pattern, "*** Begin Patch\n*** Delete File: \n*** End Patch"));
}

TEST(LarkPattern, CommonTerminalsAreThoseOfTheLibrary) {
  struct Case {
    std::string_view name, good, bad;
  };
  for (const Case& one : std::vector<Case>{{"CNAME", "_a1", "1a"},
                                           {"CR", "\r", "\n"},
                                           {"DECIMAL", "1.", "1"},
                                           {"DIGIT", "7", "77"},
                                           {"ESCAPED_STRING", "\"a\\\"b\"", "\"a\"b\""},
                                           {"FLOAT", "1e5", "15"},
                                           {"HEXDIGIT", "F", "G"},
                                           {"INT", "007", "-7"},
                                           {"LCASE_LETTER", "a", "A"},
                                           {"LETTER", "A", "1"},
                                           {"LF", "\n", "\r"},
                                           {"NEWLINE", "\r\n\n", "\r"},
                                           {"NUMBER", "1.5e-3", "+1"},
                                           {"SIGNED_FLOAT", "-1.5", "-1"},
                                           {"SIGNED_INT", "+1", "1.0"},
                                           {"SIGNED_NUMBER", "-1", "--1"},
                                           {"UCASE_LETTER", "A", "a"},
                                           {"WORD", "aB", "a b"},
                                           {"WS", " \n\t", "a"},
                                           {"WS_INLINE", " \t", "\n"}}) {
    const std::string grammar =
        "%import common." + std::string(one.name) + "\nstart: " + std::string(one.name);
    EXPECT_TRUE(derives(pattern_of(grammar), one.good)) << one.name;
    EXPECT_FALSE(derives(pattern_of(grammar), one.bad)) << one.name;
  }
}

TEST(LarkPattern, WhatIsNotFollowedIsToldWithItsLine) {
  for (const auto& [grammar, reason] : std::vector<std::pair<std::string_view, std::string_view>>{
           {"start: \"a\" start?", "'start' within itself"},
           {"start: a\na: \"(\" b \")\"\nb: a | \"x\"", "'a' within itself"},
           {"start: \"a\"\n%ignore \" \"", "'%ignore', which is not supported, in line 2"},
           {"%import python.NAME\nstart: NAME", "'python'"},
           {"%import common.NOTHING\nstart: NOTHING", "'NOTHING'"},
           {"begin: \"a\"", "no rule 'start'"},
           {"", "no rule 'start'"},
           {"start: a", "'a', which it does not have"},
           {"start: \"a\"\nstart: \"b\"", "'start' twice"},
           {"start: (\"a\"", "an end of line"},
           {"start: \"a\")", "')'"},
           {"start: \"a", "'\"' in line 1"},
           {"start: \"\\q\"", "cannot be read"},
           {"start: /a)(b/", "not whole"},
           {"start: /[a/", "not whole"},
           {"start: /a/x", "flags"},
           {"start: \"b\"..\"a\"", "range"},
           {"start: \"a\"~", "an end of line"},
           {"start: \"a\" & \"b\"", "'&' in line 1"},
           {"start \"a\"", "'\"a\"'"},
           {"\"a\": \"b\"", "'\"a\"'"},
       }) {
    EXPECT_THAT(refusal(grammar), HasSubstr(std::string(reason))) << grammar;
  }
}

TEST(LarkPattern, HasLimits) {
  EXPECT_THAT(refusal("start: \"" + std::string(70000, 'x') + "\""), HasSubstr("more than"));
  std::string grammar = "start: r0 r0\n";
  for (int i = 0; i < 30; ++i) {
    grammar += "r" + std::to_string(i) + ": r" + std::to_string(i + 1) + " r" +
               std::to_string(i + 1) + "\n";
  }
  grammar += "r30: \"x\"\n";
  EXPECT_THAT(refusal(grammar), HasSubstr("longer than"));
  std::string row = "a: \"" + std::string(30000, 'x') + "\"\nstart:";
  for (int i = 0; i < 10000; ++i) {
    row += " a";  // some hundred million bytes
  }
  EXPECT_THAT(refusal(row), HasSubstr("longer than"));
  const std::string brackets(1000, '(');
  EXPECT_THAT(refusal("start: " + brackets + "\"a\"" + std::string(1000, ')')),
              HasSubstr("nested deeper"));
}

}  // namespace
}  // namespace zllm::text
