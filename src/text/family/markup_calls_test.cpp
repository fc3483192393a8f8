#include <zllm/text/family/families.h>

#include "parse_cut-inl.h"

namespace zllm::text::family {
namespace {

const std::string kBar = "\uff5c";

std::string dsml(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += kBar.size()) {
    text.replace(at, 1, kBar);
  }
  return text;
}

std::vector<Call> typed_calls() {
  return {{"weather",
           R"({"city":"Z\"\n Bern\n","days":3,"alerts":true,"where":{"a": [1]},"ratio":null})"}};
}

TEST(Qwen3Coder, ValuesHaveTheTypesOfTheSchema) {
  const Parsed parsed = parse_all_ways(
      qwen3_coder(),
      "I look.\n<tool_call>\n<function=weather>\n<parameter=city>\nZ\"\n Bern\n\n</parameter>\n"
      "<parameter=days>\n3\n</parameter>\n<parameter=alerts>\nTrue\n</parameter>\n"
      "<parameter=where>\n{\"a\": [1]}\n</parameter>\n<parameter=ratio>\nnull\n</parameter>\n"
      "</function>\n</tool_call>\n");
  EXPECT_EQ(parsed, (Parsed{.content = "I look.", .calls = typed_calls(), .order = "c0"}));
}

TEST(Qwen3Coder, ParallelCallsWithMarkersInStrings) {
  const Parsed parsed = parse_all_ways(
      qwen3_coder(),
      "<think>\nx\n</think>\n\n<tool_call>\n<function=write-file>\n<parameter=text>\n<b>\xc3\xa4</"
      "b>"
      "</parameter> "
      "</function\n</tool_call>\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n"
      "<function=weather>\n</function>\n</tool_call>");
  EXPECT_EQ(
      parsed,
      (Parsed{.reasoning = "x",
              .calls = {{"write-file",
                         "{\"text\":\"<b>\xc3\xa4</b></parameter> </function\\n</tool_call>\"}"},
                        {"weather", "{}"}},
              .order = "r01"}));
}

TEST(Qwen3Coder, WhatIsNotOfItsTypeIsAString) {
  EXPECT_EQ(parse_all_ways(qwen3_coder(),
                           "<function=weather><parameter=days>soon</parameter><parameter=ratio>\n"
                           "0.5\n</parameter><parameter=other>\n[1]\n</parameter></function>"
                           "</tool_call>")
                .calls,
            (std::vector<Call>{{"weather", R"({"days":"soon","ratio":0.5,"other":[1]})"}}));
}

TEST(Qwen3Coder, BrokenCallsAreContent) {
  for (const std::string text :
       {"<tool_call>\n{\"name\": 1}\n</tool_call>", "<function=a b></function>",
        "<tool_call>\n<function=weather>\nBern</function>", "a <function=weather"}) {
    EXPECT_EQ(parse_cut(qwen3_coder(), with_tools(), text),
              (Parsed{.content = text, .order = "c"}));
  }
}

TEST(Qwen3Coder, ACallMayLackItsEnds) {
  const std::string text = "<tool_call>\n<function=weather>\n<parameter=days>\n3\n</parameter>\n";
  EXPECT_EQ(parse_cut(qwen3_coder(), with_tools(), text + "</tool_call>").calls,
            (std::vector<Call>{{"weather", R"({"days":3})"}}));
  EXPECT_EQ(parse_cut(qwen3_coder(), with_tools(), text).calls,
            (std::vector<Call>{{"weather", R"({"days":3})"}}));
  EXPECT_EQ(parse_cut(qwen3_coder(), with_tools(), text, Ending::cut).calls,
            (std::vector<Call>{{"weather", R"({"days":3)"}}));
}

TEST(Qwen3Coder, StringsStream) {
  const std::unique_ptr<OutputParser> parser = qwen3_coder().parser(with_tools());
  std::vector<Piece> pieces;
  parser->add("<tool_call>\n<function=weather>\n<parameter=city>\nBe\"", false, pieces);
  ASSERT_EQ(pieces.size(), 2U);
  EXPECT_EQ(std::get<CallArguments>(pieces[1]).json, "{\"city\":\"Be\\\"");
}

TEST(Glm4, CallsWithAndWithoutNewlines) {
  const Parsed parsed = parse_all_ways(
      glm4(),
      "\n<think>hm</think>\nI look.\n<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Z\"\n "
      "Bern\n</arg_value>\n<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n<arg_key>alerts"
      "</arg_key><arg_value>true</arg_value><arg_key>where</arg_key><arg_value>{\"a\": [1]}"
      "</arg_value><arg_key>ratio</arg_key><arg_value>null</arg_value></tool_call>");
  EXPECT_EQ(
      parsed,
      (Parsed{.reasoning = "hm", .content = "I look.", .calls = typed_calls(), .order = "rc0"}));
}

TEST(Glm4, ParallelCalls) {
  const Parsed parsed = parse_all_ways(
      glm4(),
      "<tool_call>write-file<arg_key>text</arg_key><arg_value><tool_call>\xe2\x82\xac</arg_value>!"
      "</arg_value></tool_call><tool_call>weather</tool_call> Bye");
  EXPECT_EQ(parsed,
            (Parsed{.content = "Bye",
                    .calls = {{"write-file", "{\"text\":\"<tool_call>\xe2\x82\xac</arg_value>!\"}"},
                              {"weather", "{}"}},
                    .order = "01c"}));
}

TEST(Glm4, BrokenCallsAreContent) {
  for (const std::string text : {"<tool_call>two words</tool_call>", "<tool_call>{}</tool_call>",
                                 "<tool_call></tool_call>", "Write <tool_call>"}) {
    EXPECT_EQ(parse_cut(glm4(), with_tools(), text), (Parsed{.content = text, .order = "c"}));
  }
  EXPECT_EQ(parse_cut(glm4(), with_tools(), "<tool_call>weather<arg_key>a</arg_key>x</tool_call>"),
            (Parsed{.content = "<arg_key>a</arg_key>x</tool_call>",
                    .calls = {{"weather", "{"}},
                    .order = "0c"}));
}

TEST(Minimax, MarkupAndJson) {
  EXPECT_EQ(parse_all_ways(
                minimax(),
                "<think>\nhm\n</think>\n\nI look.\n<minimax:tool_call>\n<invoke name=\"weather\">"
                "<parameter name=\"city\">Z\"\n Bern\n</parameter>\n<parameter name=\"days\">3"
                "</parameter>\n<parameter name=\"alerts\">true</parameter>\n<parameter "
                "name=\"where\">{\"a\": [1]}</parameter>\n<parameter name=\"ratio\">null"
                "</parameter>\n</invoke>\n<invoke name=\"write-file\">\n</invoke>\n"
                "</minimax:tool_call>"),
            (Parsed{.reasoning = "hm",
                    .content = "I look.",
                    .calls = {typed_calls()[0], {"write-file", "{}"}},
                    .order = "rc01"}));
  EXPECT_EQ(parse_all_ways(minimax(),
                           "<tool_calls>\n{\"name\": \"a\", \"arguments\": {}}\n{\"name\": \"b\", "
                           "\"arguments\": {\"x\": \"</tool_calls>\"}}\n</tool_calls>")
                .calls,
            (std::vector<Call>{{"a", "{}"}, {"b", "{\"x\": \"</tool_calls>\"}"}}));
}

TEST(DeepseekV32, TheMarkupTellsWhatIsAString) {
  for (const std::string section : {"function_calls", "tool_calls"}) {
    EXPECT_EQ(
        parse_all_ways(deepseek_v32(),
                       dsml("</think>I look.\n\n<|DSML|" + section +
                            ">\n<|DSML|invoke name=\"any\">\n<|DSML|parameter name=\"a\" "
                            "string=\"true\">12</|DSML|parameter>\n<|DSML|parameter name=\"b\" "
                            "string=\"false\">12</|DSML|parameter>\n</|DSML|invoke>\n<|DSML|invoke "
                            "name=\"other\">\n</|DSML|invoke>\n</|DSML|" +
                            section + ">")),
        (Parsed{.content = "I look.",
                .calls = {{"any", R"({"a":"12","b":12})"}, {"other", "{}"}},
                .order = "c01"}));
  }
}

TEST(DeepseekV32, TheTokenWithinMarkersIsKept) {
  std::vector<Fragment> fragments;
  for (const std::string part :
       {"function_calls>\n<", "invoke name=\"f\">\n</", "invoke>\n</", "function_calls>"}) {
    fragments.push_back({kBar + "DSML" + kBar, true});
    fragments.push_back({part});
  }
  fragments.insert(fragments.begin(), {"<"});
  EXPECT_EQ(parse(deepseek_v32(), with_tools(), fragments).calls, (std::vector<Call>{{"f", "{}"}}));
}

TEST(MarkupCalls, AValueWithoutItsEndEndsWithTheCall) {
  const std::vector<Call> ulm = {{"weather", R"({"city":"Ulm"})"}};
  EXPECT_EQ(parse_all_ways(qwen3_coder(),
                           "<tool_call>\n<function=weather>\n<parameter=city>\nUlm\n</function>\n"
                           "</tool_call>"),
            (Parsed{.calls = ulm, .order = "0"}));
  EXPECT_EQ(parse_all_ways(
                glm4(), "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Ulm</tool_call>"),
            (Parsed{.calls = ulm, .order = "0"}));
  EXPECT_EQ(parse_all_ways(qwen3_coder(),
                           "<function=write-file>\n<parameter=text>\n</function>\n</tool_call>\nx\n"
                           "</parameter>\n</function>")
                .calls,
            (std::vector<Call>{{"write-file", R"({"text":"</function>\n</tool_call>\nx"})"}}));
}

TEST(MarkupCalls, AMarkerThatTheEndCutIsNoText) {
  const std::string call = "<tool_call>\n<function=weather>\n<parameter=city>\nUlm\n</parameter>\n";
  for (const std::string end : {"<para", "<parameter=da", "</func"}) {
    EXPECT_EQ(parse_cut(qwen3_coder(), with_tools(), call + end, Ending::cut),
              (Parsed{.calls = {{"weather", R"({"city":"Ulm")"}}, .order = "0"}))
        << end;
  }
}

TEST(MarkupCalls, CallsMayBeJson) {
  const std::vector<Call> ulm = {{"weather", R"({"city": "Ulm"})"}};
  const std::string json = R"({"name": "weather", "arguments": {"city": "Ulm"}})";
  EXPECT_EQ(parse_all_ways(qwen3_coder(), concat("<tool_call>\n", json, "\n</tool_call>")),
            (Parsed{.calls = ulm, .order = "0"}));
  EXPECT_EQ(parse_all_ways(glm4(), concat("<tool_call>", json, "</tool_call>")),
            (Parsed{.calls = ulm, .order = "0"}));
}

TEST(MarkupCalls, SeedOss) {
  EXPECT_EQ(
      parse_all_ways(seed_oss(),
                     "<seed:think>\nHm\n</seed:think>\nI look.\n<seed:tool_call>\n"
                     "<function=weather>\n<parameter=city>Ulm\n2</parameter>\n<parameter=days>3"
                     "</parameter>\n</function>\n</seed:tool_call>"),
      (Parsed{.reasoning = "Hm",
              .content = "I look.",
              .calls = {{"weather", R"({"city":"Ulm\n2","days":3})"}},
              .order = "rc0"}));
}

}  // namespace
}  // namespace zllm::text::family
