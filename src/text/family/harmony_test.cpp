#include <zllm/text/family/families.h>

#include "parse_cut-inl.h"

namespace zllm::text::family {
namespace {

TEST(Harmony, ChannelsAreReasoningAndContent) {
  EXPECT_EQ(parse_all_ways(harmony(),
                           "<|channel|>analysis<|message|>Hm\n<|end|><|start|>assistant"
                           "<|channel|>final<|message|> Y\xc3\xa9s<br><|return|>"),
            (Parsed{.reasoning = "Hm\n", .content = " Y\xc3\xa9s<br>", .order = "rc"}));
}

TEST(Harmony, CommentaryIsContentAndCallsHaveRecipients) {
  EXPECT_EQ(
      parse_all_ways(
          harmony(),
          "<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>commentary"
          "<|message|>I look.<|end|><|start|>assistant<|channel|>commentary "
          "to=functions.get-weather <|constrain|>json<|message|>{\"a\": {\"b\": \"<|call|>\"}}"
          "<|call|><|start|>assistant to=functions.b<|channel|>commentary json<|message|>"
          "<|call|>"),
      (Parsed{.reasoning = "Hm",
              .content = "I look.",
              .calls = {{"get-weather", "{\"a\": {\"b\": \"<|call|>\"}}"}, {"b", "{}"}},
              .order = "rc01"}));
}

TEST(Harmony, ThePromptBeginsTheFirstHeader) {
  EXPECT_EQ(parse_all_ways(harmony(), " to=functions.a<|channel|>commentary json<|message|>{}"),
            (Parsed{.calls = {{"a", "{}"}}, .order = "0"}));
  EXPECT_EQ(parse_all_ways(harmony(), "<|message|>Yes"), (Parsed{.content = "Yes", .order = "c"}));
}

TEST(Harmony, HeadersMayBeMalformed) {
  for (const std::string header :
       {"<|channel|>commentary<|constrain|>json to=functions.a-b<|message|>",
        "<|channel|>commentary to=functions.a-b<|channel|>commentary json<|message|>",
        "<|channel|>analysis to=functions.a-b code<|message|>",
        "<|channel|>commentary to=functions.a-b <|constrain|>json",
        "<|start|>assistant<|channel|>commentary to=functions.a-b\n<|message|>\n"}) {
    EXPECT_EQ(parse_all_ways(harmony(), header + "{\"x\": 1}<|call|>"),
              (Parsed{.calls = {{"a-b", "{\"x\": 1}"}}, .order = "0"}))
        << header;
  }
  EXPECT_EQ(
      parse_all_ways(harmony(), "<|channel|>commentary to=weather<|message|>{}<|call|>").calls,
      (std::vector<Call>{{"weather", "{}"}}));
  EXPECT_EQ(parse_cut(harmony(), with_tools(), "<|channel|>final Yes {<|end|>"),
            (Parsed{.content = " Yes {", .order = "c"}));
  EXPECT_EQ(parse_cut(harmony(), with_tools(), "<|start|>assistant Yes<|return|>"),
            (Parsed{.content = " Yes", .order = "c"}));
  EXPECT_EQ(parse_cut(harmony(), with_tools(), "Yes <|no"),
            (Parsed{.content = "Yes <|no", .order = "c"}));
  EXPECT_EQ(parse_cut(harmony(), with_tools(),
                      "<|channel|>analysis<|message|>a<|channel|>final"
                      "<|message|>b"),
            (Parsed{.reasoning = "a", .content = "b", .order = "rc"}));
}

TEST(Harmony, WhatIsNoCallIsContent) {
  EXPECT_EQ(parse_cut(harmony(), with_tools(),
                      "<|channel|>commentary to=functions.a<|message|>print(1)<|call|>"),
            (Parsed{.content = "print(1)", .order = "c"}));
  EXPECT_EQ(
      parse_all_ways(harmony(), "<|channel|>commentary to=functions.a<|message|>{\"a\": 1}<|call|>",
                     {.allows_calls = false}),
      (Parsed{.content = "{\"a\": 1}", .order = "c"}));
}

TEST(Harmony, ReasoningMayStayInContent) {
  EXPECT_EQ(parse_all_ways(harmony(),
                           "<|channel|>analysis<|message|>Hm<|end|><|start|>assistant"
                           "<|channel|>final<|message|>Yes<|return|>",
                           {.separates_reasoning = false}),
            (Parsed{.content = "<|channel|>analysis<|message|>Hm<|end|>Yes", .order = "c"}));
}

TEST(Harmony, ThePromptMayOpenReasoning) {
  EXPECT_EQ(parse_all_ways(harmony(), "Hm<|end|><|start|>assistant<|channel|>final<|message|>Yes",
                           {.is_reasoning_open = true}),
            (Parsed{.reasoning = "Hm", .content = "Yes", .order = "rc"}));
  EXPECT_EQ(parse_cut(harmony(), {.is_reasoning_open = true}, "Paris."),
            (Parsed{.reasoning = "Paris.", .content = "Paris.", .order = "rc"}));
}

TEST(Harmony, SpaceMayStandWithinHeaders) {
  EXPECT_EQ(parse_all_ways(harmony(),
                           "<|channel|> analysis<|message|>Hm<|end|><|start|>assistant"
                           "<|channel|> commentary to= functions.f <|message|>{}<|call|>"),
            (Parsed{.reasoning = "Hm", .calls = {{"f", "{}"}}, .order = "r0"}));
}

}  // namespace
}  // namespace zllm::text::family
