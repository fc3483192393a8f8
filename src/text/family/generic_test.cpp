#include <zllm/text/family/families.h>

#include "parse_cut-inl.h"

namespace zllm::text::family {
namespace {

constexpr std::string_view kCall = R"({"name": "weather", "parameters": {"city": "Bern"}})";
const std::vector<Call> kCalls = {{"weather", R"({"city": "Bern"})"}};

TEST(Generic, AWholeAnswerMayBeACall) {
  EXPECT_EQ(parse_all_ways(generic(), kCall), (Parsed{.calls = kCalls, .order = "0"}));
  EXPECT_EQ(parse_all_ways(generic(), "<think>x</think>\n[" + std::string(kCall) + "]").calls,
            kCalls);
}

TEST(Generic, CallsMayStandInFencesAndTags) {
  const std::string call(kCall);
  EXPECT_EQ(parse_all_ways(generic(), "So:\n```json\n" + call + "\n```\n"),
            (Parsed{.content = "So:", .calls = kCalls, .order = "c0"}));
  for (const std::string& text :
       {"```\n" + call + "\n```", "<tool_call>" + call + "</tool_call>",
        "<tool_calls>[" + call + "]</tool_calls>", "<TOOLCALL>[" + call + "]</TOOLCALL>",
        "<|tool_call|>[" + call + "]", "functools[" + call + "]"}) {
    EXPECT_EQ(parse_all_ways(generic(), text), (Parsed{.calls = kCalls, .order = "0"})) << text;
  }
}

TEST(Generic, OtherJsonIsContent) {
  for (const std::string text :
       {R"({"name": "Anna", "arguments": {"a": 1}})", R"({"name": "weather"})", "[1, 2]",
        "```json\n{\"name\": \"Anna\", \"arguments\": {}}\n```", "```cpp\nint a;\n```\n",
        R"({"name": "weather", "parameters": 5} x)", "functools are tools", "``` `"}) {
    EXPECT_EQ(parse_cut(generic(), with_tools(), text), (Parsed{.content = text, .order = "c"}));
  }
  EXPECT_EQ(parse_cut(generic(), {}, kCall), (Parsed{.content = std::string(kCall), .order = "c"}));
}

TEST(Generic, JsonWithinTextIsContent) {
  const std::string text = "Like this: " + std::string(kCall);
  EXPECT_EQ(parse_all_ways(generic(), text), (Parsed{.content = text, .order = "c"}));
}

}  // namespace
}  // namespace zllm::text::family
