#include <zllm/text/family/families.h>

#include "parse_cut-inl.h"

namespace zllm::text::family {
namespace {

TEST(Hermes, ContentAloneIsAsWritten) {
  EXPECT_EQ(parse_all_ways(hermes(), " Hello,\n <b>w\xc3\xb6rld</b> <tool \n"),
            (Parsed{.content = " Hello,\n <b>w\xc3\xb6rld</b> <tool \n", .order = "c"}));
}

TEST(Hermes, ReasoningIsApart) {
  EXPECT_EQ(
      parse_all_ways(hermes(), "<think>\nHm,\n\n<tool_call>?\n</think>\n\nYes </think>."),
      (Parsed{.reasoning = "Hm,\n\n<tool_call>?", .content = "Yes </think>.", .order = "rc"}));
  EXPECT_EQ(parse_all_ways(hermes(), "<think>\n\n</think>\n\nYes"),
            (Parsed{.content = "Yes", .order = "c"}));
  EXPECT_EQ(parse_all_ways(hermes(), "The <think> tag"),
            (Parsed{.content = "The <think> tag", .order = "c"}));
}

TEST(Hermes, OneCall) {
  EXPECT_EQ(parse_all_ways(hermes(),
                           "Let me look.\n\n<tool_call>\n{\"name\": \"weather\", \"arguments\": "
                           "{\"city\": \"Z\xc3\xbcrich\"}}\n</tool_call>\n"),
            (Parsed{.content = "Let me look.",
                    .calls = {{"weather", "{\"city\": \"Z\xc3\xbcrich\"}"}},
                    .order = "c0"}));
}

TEST(Hermes, ParallelCallsAndTextAround) {
  const Parsed parsed = parse_all_ways(
      hermes(),
      "<think>\na\n</think>\n\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"where\": "
      "{\"a\": [1, {\"b\": \"</tool_call>\"}, -2.5e3]}}}\n</tool_call>\n<tool_call>\n{\"name\": "
      "\"other\", \"arguments\": {}}\n</tool_call> Done.");
  EXPECT_EQ(parsed, (Parsed{.reasoning = "a",
                            .content = "Done.",
                            .calls = {{"weather",
                                       "{\"where\": {\"a\": [1, {\"b\": \"</tool_call>\"}, "
                                       "-2.5e3]}}"},
                                      {"other", "{}"}},
                            .order = "r01c"}));
}

TEST(Hermes, ArgumentsMayComeFirstOrAsTextOrNotAtAll) {
  const std::string text =
      R"(<tool_call>{"arguments": {"days": 3}, "name": "weather"}</tool_call>)"
      R"(<tool_call>{"name": "weather", "arguments": "{\"days\": 4}"}</tool_call>)"
      R"(<tool_call>{"name": "weather"}</tool_call>)";
  EXPECT_EQ(parse_all_ways(hermes(), text).calls,
            (std::vector<Call>{
                {"weather", "{\"days\": 3}"}, {"weather", "{\"days\": 4}"}, {"weather", "{}"}}));
}

TEST(Hermes, StringsAreMended) {
  const Parsed parsed = parse_all_ways(
      hermes(),
      "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"x\ny\\d\\ud83d\\ude00\\ud83d!\"}}"
      "</tool_call>");
  ASSERT_EQ(parsed.calls.size(), 1U);
  EXPECT_EQ(parsed.calls[0].arguments, R"({"a": "x\ny\\d\ud83d\ude00\ufffd!"})");
}

TEST(Hermes, BrokenCallsAreContent) {
  for (const std::string text :
       {"<tool_call>\nnone\n</tool_call> x", "a <tool_call>{\"name\": 5}</tool_call>",
        "<tool_call>{\"name\": \"f\", \"arguments\": [1]}</tool_call>", "x\n<tool_call>",
        "<tool_call>{\"arguments\": {}}</tool_call>", "<tool_call>{\"name\": \"f\" oops}"}) {
    EXPECT_EQ(parse_cut(hermes(), with_tools(), text), (Parsed{.content = text, .order = "c"}));
  }
}

TEST(Hermes, WhatBreaksLateEndsTheCall) {
  EXPECT_EQ(parse_cut(hermes(), with_tools(),
                      "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1 2}}</tool_call>"),
            (Parsed{.content = "2}}</tool_call>", .calls = {{"f", "{\"a\": 1 "}}, .order = "0c"}));
  EXPECT_EQ(
      parse_cut(hermes(), with_tools(), "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": "),
      (Parsed{.calls = {{"f", "{\"a\": "}}, .order = "0"}));
}

TEST(Hermes, ABrokenCallHidesNoOther) {
  EXPECT_EQ(parse_cut(hermes(), with_tools(),
                      "<tool_call>\n<tool_call>\n{\"name\": \"f\"}\n</tool_call>"),
            (Parsed{.content = "<tool_call>", .calls = {{"f", "{}"}}, .order = "c0"}));
}

TEST(Hermes, CallsThatAreNotAllowedAreContent) {
  const std::string text = "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>\n";
  EXPECT_EQ(parse_all_ways(hermes(), text, {.allows_calls = false}),
            (Parsed{.content = text, .order = "c"}));
}

TEST(Hermes, ReasoningMayStayInContent) {
  const std::string text = "\n<think>\nHm\n</think>\n\nYes";
  EXPECT_EQ(parse_all_ways(hermes(), text, {.separates_reasoning = false}),
            (Parsed{.content = text, .order = "c"}));
  EXPECT_EQ(parse_all_ways(hermes(), "\nHm\n</think>\n\nYes",
                           {.is_reasoning_open = true, .separates_reasoning = false}),
            (Parsed{.content = "\nHm\n</think>\n\nYes", .order = "c"}));
}

TEST(Hermes, ThePromptMayOpenReasoning) {
  const ParserOptions open = {.tools = sample_tools(), .is_reasoning_open = true};
  EXPECT_EQ(parse_all_ways(hermes(), "Hm\n</think>\n\nYes", open),
            (Parsed{.reasoning = "Hm", .content = "Yes", .order = "rc"}));
  EXPECT_EQ(parse_all_ways(hermes(), "<think>\nHm\n</think>\nYes", open),
            (Parsed{.reasoning = "Hm", .content = "Yes", .order = "rc"}));
}

TEST(Hermes, AnAnswerWithinOpenReasoningIsAlsoTheAnswer) {
  const ParserOptions open = {.tools = sample_tools(), .is_reasoning_open = true};
  EXPECT_EQ(parse_cut(hermes(), open, "Paris."),
            (Parsed{.reasoning = "Paris.", .content = "Paris.", .order = "rc"}));
  EXPECT_EQ(parse_cut(hermes(), open, "<tool_call>{\"name\": \"f\"}</tool_call>").calls,
            (std::vector<Call>{{"f", "{}"}}));
  EXPECT_EQ(parse(hermes(), open, {{"Long thou"}}, Ending::cut),
            (Parsed{.reasoning = "Long thou", .order = "r"}));
}

TEST(Hermes, ControlTokensWithoutMeaningAreDropped) {
  EXPECT_EQ(parse(hermes(), with_tools(),
                  {{"<think>", true},
                   {"a"},
                   {"</think>", true},
                   {"b"},
                   {"<|im_end|>", true},
                   {"<|im_end|>"}}),
            (Parsed{.reasoning = "a", .content = "b<|im_end|>", .order = "rc"}));
}

TEST(Hermes, TextGoesOutAtOnce) {
  const std::unique_ptr<OutputParser> parser = hermes().parser(with_tools());
  std::vector<Piece> pieces;
  parser->add("a <b", false, pieces);
  ASSERT_EQ(pieces.size(), 1U);
  EXPECT_EQ(std::get<Content>(pieces[0]).text, "a <b");
  parser->add("<tool_call>{\"name\":\"f\",\"arguments\":{", false, pieces);
  ASSERT_EQ(pieces.size(), 3U);
  EXPECT_EQ(std::get<CallBegin>(pieces[1]).name, "f");
  EXPECT_EQ(std::get<CallArguments>(pieces[2]).json, "{");
}

TEST(Hermes, BracesTooFewOrTooManyAreMarkup) {
  for (const std::string braces : {"", "}", "}}", "}\n}"}) {
    EXPECT_EQ(
        parse_all_ways(hermes(), concat("<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}",
                                        braces, "\n</tool_call>\n")),
        (Parsed{.calls = {{"f", "{\"a\": 1}"}}, .order = "0"}))
        << braces;
  }
}

TEST(Hermes, CommasAtTheEndAndWordsOfPythonAreMended) {
  const std::string text =
      "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": [True, None, ], \"b\": False , "
      "}}</tool_call>";
  EXPECT_EQ(parse_all_ways(hermes(), text).calls,
            (std::vector<Call>{{"f", "{\"a\": [true, null], \"b\": false }"}}));
}

TEST(Hermes, ArgumentsThatAreAnEmptyTextAreNone) {
  EXPECT_EQ(
      parse_all_ways(hermes(), R"(<tool_call>{"name": "f", "arguments": ""}</tool_call>)").calls,
      (std::vector<Call>{{"f", "{}"}}));
}

}  // namespace
}  // namespace zllm::text::family
