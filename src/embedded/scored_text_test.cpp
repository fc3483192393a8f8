#include <zllm/embedded/scored_text.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zllm {
namespace {

using testing::ElementsAre;

// A token that spells the text, not ended yet.
void begin(ScoredText& scored, const std::string& text, bool is_special = false) {
  scored.begin({.token = 1, .bytes = text});
  scored.append(text, is_special);
}

void add(ScoredText& scored, const std::string& text) {
  begin(scored, text);
  scored.end();
}

// Their bytes, those of content in brackets.
std::vector<std::string> told(const std::vector<ScoredToken>& tokens) {
  std::vector<std::string> out;
  for (const ScoredToken& token : tokens) {
    out.push_back(token.is_content ? "[" + token.bytes + "]" : token.bytes);
  }
  return out;
}

TEST(ScoredText, TellsEachTokenWithItsText) {
  ScoredText scored(false);
  begin(scored, "He");
  EXPECT_THAT(told(scored.take_content("He")), ElementsAre("[He]"));
  scored.end();
  add(scored, "l");
  begin(scored, "lo");
  EXPECT_THAT(told(scored.take_content("ll")), ElementsAre("[l]", "[lo]"));
  EXPECT_THAT(told(scored.take_content("o")), ElementsAre());
  scored.end();
  EXPECT_THAT(told(scored.take_passed()), ElementsAre());
}

TEST(ScoredText, MarkersAndBlanksBeforeContentAreNone) {
  ScoredText scored(true);
  begin(scored, "r");
  scored.leave_content();
  scored.end();
  EXPECT_THAT(told(scored.take_passed()), ElementsAre("r"));
  add(scored, "</");
  begin(scored, "think>");
  scored.leave_content();
  scored.end_reasoning();
  scored.end();
  add(scored, "\n\n");
  begin(scored, "t");
  scored.enter_content();
  EXPECT_THAT(told(scored.take_content("t")), ElementsAre("</", "think>", "\n\n", "[t]"));
}

TEST(ScoredText, ATokenThatStraddlesTheMarkerIsOfContent) {
  ScoredText scored(false);
  begin(scored, "></");  // the marker's end, and what is held back
  scored.leave_content();
  scored.enter_content();
  scored.end();
  begin(scored, "b");
  EXPECT_THAT(told(scored.take_content("</b")), ElementsAre("[></]", "[b]"));
  scored.end();
  begin(scored, ";x");
  scored.leave_content();
  EXPECT_THAT(told(scored.take_passed()), ElementsAre());
  EXPECT_THAT(told(scored.take_content("x")), ElementsAre("[;x]"));
}

TEST(ScoredText, ContentThatLooksLikeItsMarkerIsFound) {
  ScoredText scored(false);
  begin(scored, "]");
  scored.leave_content();
  scored.end();
  begin(scored, "]");
  EXPECT_THAT(told(scored.take_content("]")), ElementsAre("]", "[]]"));
}

TEST(ScoredText, ControlTokensThatWereDroppedArePassedOver) {
  ScoredText scored(false);
  begin(scored, "<a>", true);
  scored.end();
  begin(scored, "a");
  EXPECT_THAT(told(scored.take_content("a")), ElementsAre("<a>", "[a]"));
  scored.end();
  begin(scored, "<a>", true);
  scored.end();
  EXPECT_THAT(told(scored.take_content("<a>")), ElementsAre("[<a>]"));
}

TEST(ScoredText, PartsOfACharacterGoTogether) {
  ScoredText scored(false);
  scored.begin({.token = 1, .bytes = "\xc3"});
  scored.end();
  scored.begin({.token = 2, .bytes = "\xa9"});
  scored.append("\xc3\xa9", false);
  EXPECT_THAT(told(scored.take_content("\xc3\xa9")), ElementsAre("[\xc3]", "[\xa9]"));
  scored.end();
  scored.begin({.token = 3, .bytes = "\xc3"});
  scored.end();
  EXPECT_THAT(told(scored.take_passed()), ElementsAre("\xc3"));
}

TEST(ScoredText, ReasoningThatTurnsOutToBeContentIsToldAgain) {
  ScoredText scored(true);
  for (const std::string text : {"a", "b"}) {
    begin(scored, text);
    scored.leave_content();
    scored.end();
    EXPECT_THAT(told(scored.take_passed()), ElementsAre(text));
  }
  EXPECT_THAT(told(scored.take_content("a")), ElementsAre("[a]"));
  EXPECT_THAT(told(scored.take_content("b")), ElementsAre("[b]"));
}

TEST(ScoredText, TextWithoutScoresIsNotKept) {
  ScoredText scored(true);
  scored.append("abc", false);
  EXPECT_THAT(told(scored.take_content("abc")), ElementsAre());
  EXPECT_FALSE(scored.ends_with("c"));
}

}  // namespace
}  // namespace zllm
