#include <zllm/text/family/families.h>

#include "parse_cut-inl.h"

namespace zllm::text::family {
namespace {

// Markers of DeepSeek are written with ASCII here.
std::string wide(std::string_view text) {
  std::string out;
  bool in_marker = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool opens = text.substr(i, 2) == "<|";
    in_marker = (in_marker || opens) && text[i] != '>';
    out += text[i] == '|'                ? "\uff5c"
           : in_marker && text[i] == '_' ? "\u2581"
                                         : std::string(1, text[i]);
  }
  return out;
}

TEST(Mistral, NewForm) {
  EXPECT_EQ(parse_all_ways(mistral(),
                           "[THINK]Hm[/THINK]I look.[TOOL_CALLS]weather[CALL_ID]abc123XYZ"
                           "[ARGS]{\"city\": \"[TOOL_CALLS]\"}[TOOL_CALLS]write-file"
                           "[ARGS]{\"a\": {\"b\": [\"}\"]}}"),
            (Parsed{.reasoning = "Hm",
                    .content = "I look.",
                    .calls = {{"weather", "{\"city\": \"[TOOL_CALLS]\"}", "abc123XYZ"},
                              {"write-file", "{\"a\": {\"b\": [\"}\"]}}"}},
                    .order = "rc01"}));
}

TEST(Mistral, OldFormWithIds) {
  EXPECT_EQ(parse_all_ways(mistral(),
                           "[TOOL_CALLS][{\"name\": \"a\", \"arguments\": {\"x\": 1}, \"id\": "
                           "\"abc123XYZ\"}, {\"name\": \"b\", \"arguments\": {}}]"),
            (Parsed{.calls = {{"a", "{\"x\": 1}", "abc123XYZ"}, {"b", "{}"}}, .order = "01"}));
}

TEST(Mistral, BrokenCallsAreContent) {
  for (const std::string text : {"[TOOL_CALLS]", "[TOOL_CALLS] none", "[TOOL_CALLS][1, 2]", "[a] [",
                                 "[TOOL_CALLS]a b[ARGS]{}", "[TOOL_CALLS][{\"arguments\": {}}]"}) {
    EXPECT_EQ(parse_cut(mistral(), with_tools(), text), (Parsed{.content = text, .order = "c"}));
  }
}

TEST(DeepseekV3, FencedCalls) {
  EXPECT_EQ(
      parse_all_ways(deepseek_v3(),
                     wide("<think>\nhm\n</think>\n\nI look.<|tool_calls_begin|><|tool_call_begin|>"
                          "function<|tool_sep|>get_weather\n```json\n{\"a\": \"```\"}\n```"
                          "<|tool_call_end|>\n<|tool_call_begin|>function<|tool_sep|>b\n```json\n{}"
                          "\n```<|tool_call_end|><|tool_calls_end|>")),
      (Parsed{.reasoning = "hm",
              .content = "I look.",
              .calls = {{"get_weather", "{\"a\": \"```\"}"}, {"b", "{}"}},
              .order = "rc01"}));
}

TEST(DeepseekV31, NamesBeforeTheSeparator) {
  EXPECT_EQ(
      parse_all_ways(deepseek_v31(),
                     wide("</think>Yes<|tool_calls_begin|><|tool_call_begin|>get_weather"
                          "<|tool_sep|>{\"a\": \"\xc3\xa9\"}<|tool_call_end|><|tool_call_begin"
                          "|>b<|tool_sep|>{}<|tool_call_end|><|tool_calls_end|>")),
      (Parsed{.content = "Yes",
              .calls = {{"get_weather", "{\"a\": \"\xc3\xa9\"}"}, {"b", "{}"}},
              .order = "c01"}));
}

TEST(DeepseekV31, BrokenCallsAreContent) {
  for (const std::string& text :
       {wide("<|tool_calls_begin|>none<|tool_calls_end|>"), wide("<|tool_call_begin|>a{}"),
        wide("x <|tool_calls_begin|><|tool_call_begin|>a<|tool_sep|>")}) {
    EXPECT_EQ(parse_cut(deepseek_v31(), with_tools(), text),
              (Parsed{.content = text, .order = "c"}));
  }
}

TEST(KimiK2, TheHeaderIsTheId) {
  EXPECT_EQ(
      parse_all_ways(kimi_k2(),
                     "<think>hm</think>I look. <|tool_calls_section_begin|><|tool_call_begin|>"
                     "functions.get_weather:0<|tool_call_argument_begin|>{\"a\": {\"b\": null}}"
                     "<|tool_call_end|><|tool_call_begin|>other:1<|tool_call_argument_begin|>{}"
                     "<|tool_call_end|><|tool_calls_section_end|>"),
      (Parsed{.reasoning = "hm",
              .content = "I look.",
              .calls = {{"get_weather", "{\"a\": {\"b\": null}}", "functions.get_weather:0"},
                        {"other", "{}", "other:1"}},
              .order = "rc01"}));
}

TEST(KimiK2, BrokenCallsAreContent) {
  for (const std::string text :
       {"<|tool_calls_section_begin|>x", "<|tool_call_begin|>functions.a:0 {",
        "<|tool_call_begin|>:0<|tool_call_argument_begin|>"}) {
    const Parsed parsed = parse_cut(kimi_k2(), with_tools(), text);
    EXPECT_EQ(parsed.content.empty(), !parsed.calls.empty()) << text;
  }
}

TEST(Llama3, BareAndTaggedCalls) {
  EXPECT_EQ(
      parse_all_ways(llama3(), R"({"type": "function", "name": "weather", "parameters": )"
                               R"({"city": "Bern"}}; {"name": "write-file", "parameters": {}})"),
      (Parsed{.calls = {{"weather", R"({"city": "Bern"})"}, {"write-file", "{}"}}, .order = "01"}));
  EXPECT_EQ(parse_all_ways(llama3(), "<|python_tag|>{\"name\": \"other\", \"parameters\": {}}"),
            (Parsed{.calls = {{"other", "{}"}}, .order = "0"}));
}

TEST(Llama3, OtherTextIsContent) {
  for (const std::string text : {R"({"name": "other", "parameters": {}})", "{\"a\": 1}", "{",
                                 "<|python_tag|>weather.call(city=\"Bern\")", "So: {}"}) {
    EXPECT_EQ(parse_cut(llama3(), with_tools(), text), (Parsed{.content = text, .order = "c"}));
  }
}

TEST(HeaderCalls, NoArgumentsAreAnEmptyObject) {
  EXPECT_EQ(
      parse_all_ways(kimi_k2(),
                     "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0"
                     "<|tool_call_argument_begin|><|tool_call_end|><|tool_calls_section_end|>"),
      (Parsed{.calls = {{"f", "{}", "functions.f:0"}}, .order = "0"}));
}

TEST(HeaderCalls, WhatBreaksWithinTheObjectLeavesNoMarkup) {
  EXPECT_EQ(
      parse_cut(kimi_k2(), with_tools(),
                "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0"
                "<|tool_call_argument_begin|>{\"a\"<|tool_call_end|><|tool_calls_section_end|>x")
          .content,
      "x");
}

TEST(HeaderCalls, MistralMayWriteOneObject) {
  EXPECT_EQ(parse_all_ways(mistral(), R"([TOOL_CALLS]{"name": "f", "arguments": {"a": 1}})").calls,
            (std::vector<Call>{{"f", R"({"a": 1})"}}));
}

}  // namespace
}  // namespace zllm::text::family
