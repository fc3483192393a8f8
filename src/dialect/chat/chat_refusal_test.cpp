#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <zllm/base/json.h>
#include <zllm/base/text.h>
#include <zllm/dialect/chat/chat.h>

namespace zllm::dialect::chat {
namespace {

struct Case {
  std::string_view members;  // of the body, or the whole where it starts with '{' or '['
  std::string_view field;
};

constexpr std::string_view kTool = R"("tools":[{"type":"function","function":{"name":"f"}}])";

std::string refused_field(std::string_view members) {
  const bool is_whole = members.starts_with('{') || members.starts_with('[');
  const std::string text =
      is_whole ? std::string(members)
               : concat(R"({"messages":[{"role":"user","content":"hi"}],)", members, "}");
  const auto json = Json::parse(text, "body");
  EXPECT_TRUE(json.ok()) << text;
  auto exchange = read(*json, {});
  if (exchange.ok()) {
    return "accepted";
  }
  EXPECT_FALSE(exchange.error().message.empty());
  return exchange.error().field;
}

class Refusal : public testing::TestWithParam<Case> {};

TEST_P(Refusal, NamesTheField) {
  EXPECT_EQ(refused_field(GetParam().members), GetParam().field) << GetParam().members;
}

constexpr Case kMessageCases[] = {
    {"[]", ""},
    {"{}", "messages"},
    {R"({"messages":null})", "messages"},
    {R"({"messages":"hi"})", "messages"},
    {R"({"messages":[]})", "messages"},
    {R"({"messages":[1]})", "messages[0]"},
    {R"({"messages":[{"content":"x"}]})", "messages[0].role"},
    {R"({"messages":[{"role":"function","content":"x"}]})", "messages[0].role"},
    {R"({"messages":[{"role":"User","content":"x"}]})", "messages[0].role"},
    {R"({"messages":[{"role":"user"}]})", "messages[0].content"},
    {R"({"messages":[{"role":"user","content":1}]})", "messages[0].content"},
    {R"({"messages":[{"role":"assistant","content":null}]})", "messages[0].content"},
    {R"({"messages":[{"role":"user","content":[{"text":"x"}]}]})", "messages[0].content[0].type"},
    {R"({"messages":[{"role":"user","content":[{"type":"text"}]}]})",
     "messages[0].content[0].text"},
    {R"({"messages":[{"role":"user","content":["x"]}]})", "messages[0].content[0]"},
    {R"({"messages":[{"role":"user","content":[{"type":"text","text":"x"},
        {"type":"image_url","image_url":{"url":"u"}}]}]})",
     "messages[0].content[1].type"},
    {R"({"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{}}]}]})",
     "messages[0].content[0].type"},
    {R"({"messages":[{"role":"user","content":[{"type":"file","file":{}}]}]})",
     "messages[0].content[0].type"},
    {R"({"messages":[{"role":"user","content":[{"type":"refusal","refusal":"no"}]}]})",
     "messages[0].content[0].type"},
    {R"({"messages":[{"role":"user","content":"x","tool_calls":[]}]})", "messages[0].tool_calls"},
    {R"({"messages":[{"role":"tool","content":"x"}]})", "messages[0].tool_call_id"},
    {R"({"messages":[{"role":"assistant","content":"x","function_call":{"name":"f"}}]})",
     "messages[0].function_call"},
    {R"({"messages":[{"role":"assistant","content":"x","audio":{"id":"a"}}]})",
     "messages[0].audio"},
    {R"({"messages":[{"role":"assistant","tool_calls":[{"type":"function",
        "function":{"name":"f","arguments":"{}"}}]}]})",
     "messages[0].tool_calls[0].id"},
    {R"({"messages":[{"role":"assistant","tool_calls":[{"id":"1","type":"custom"}]}]})",
     "messages[0].tool_calls[0].type"},
    {R"({"messages":[{"role":"assistant","tool_calls":[{"id":"1","type":"function",
        "function":{"arguments":"{}"}}]}]})",
     "messages[0].tool_calls[0].function.name"},
    {R"({"messages":[{"role":"user","content":"x","surprise":1}]})", "messages[0].surprise"},
};
INSTANTIATE_TEST_SUITE_P(Messages, Refusal, testing::ValuesIn(kMessageCases));

constexpr Case kNumberCases[] = {
    {R"("temperature":2.1)", "temperature"},
    {R"("temperature":-0.1)", "temperature"},
    {R"("temperature":"1")", "temperature"},
    {R"("top_p":1.1)", "top_p"},
    {R"("min_p":-1)", "min_p"},
    {R"("typical_p":0)", "typical_p"},
    {R"("top_k":-2)", "top_k"},
    {R"("top_k":1.5)", "top_k"},
    {R"("repetition_penalty":0)", "repetition_penalty"},
    {R"("repeat_penalty":0)", "repeat_penalty"},
    {R"("repetition_penalty":1,"repeat_penalty":1)", "repeat_penalty"},
    {R"("penalty_last_n":-2)", "penalty_last_n"},
    {R"("presence_penalty":2.5)", "presence_penalty"},
    {R"("frequency_penalty":-2.5)", "frequency_penalty"},
    {R"("seed":1.5)", "seed"},
    {R"("seed":"7")", "seed"},
    {R"("seed":1e30)", "seed"},
    {R"("logit_bias":[])", "logit_bias"},
    {R"("logit_bias":{"x":1})", "logit_bias"},
    {R"("logit_bias":{"-1":1})", "logit_bias"},
    {R"("logit_bias":{"99999999999":1})", "logit_bias"},
    {R"("logit_bias":{"5":101})", "logit_bias.5"},
    {R"("max_tokens":0)", "max_tokens"},
    {R"("max_completion_tokens":-1)", "max_completion_tokens"},
    {R"("max_tokens":5,"max_completion_tokens":6)", "max_tokens"},
    {R"("min_tokens":6,"max_tokens":5)", "min_tokens"},
    {R"("min_tokens":-1)", "min_tokens"},
    {R"("n":0)", "n"},
    {R"("n":129)", "n"},
    {R"("n":3,"best_of":2)", "best_of"},
    {R"("best_of":2,"stream":true)", "best_of"},
    {R"("top_logprobs":21,"logprobs":true)", "top_logprobs"},
    {R"("top_logprobs":1)", "top_logprobs"},
    {R"("logprobs":1)", "logprobs"},
    {R"("stop":"")", "stop"},
    {R"("stop":5)", "stop"},
    {R"("stop":["a",""])", "stop[1]"},
    {R"("stop":["a",1])", "stop[1]"},
    {R"("stop":["1","2","3","4","5","6","7","8","9","0","a","b","c","d","e","f","g"])", "stop"},
    {R"("stop_token_ids":[-1])", "stop_token_ids[0]"},
    {R"("stop_token_ids":[4294967296])", "stop_token_ids[0]"},
    {R"("priority":4294967296)", "priority"},
    {R"("time_limit_seconds":0)", "time_limit_seconds"},
};
INSTANTIATE_TEST_SUITE_P(Numbers, Refusal, testing::ValuesIn(kNumberCases));

constexpr Case kFormatCases[] = {
    {R"("response_format":"json")", "response_format"},
    {R"("response_format":{})", "response_format.type"},
    {R"("response_format":{"type":"xml"})", "response_format.type"},
    {R"("response_format":{"type":"json_schema"})", "response_format.json_schema"},
    {R"("response_format":{"type":"json_schema","json_schema":{"schema":{}}})",
     "response_format.json_schema.name"},
    {R"("response_format":{"type":"json_schema","json_schema":{"name":"a b","schema":{}}})",
     "response_format.json_schema.name"},
    {R"("response_format":{"type":"json_schema","json_schema":{"name":"a","schema":1}})",
     "response_format.json_schema.schema"},
    {R"("response_format":{"type":"text","schema":{}})", "response_format.schema"},
    {R"("response_format":{"type":"json_object"},"grammar":"root ::= \"a\"")", "grammar"},
    {R"("guided_json":"{")", "guided_json"},
    {R"("guided_json":{},"guided_regex":"a")", "guided_regex"},
    {R"("guided_choice":[])", "guided_choice"},
    {R"("guided_choice":["a",1])", "guided_choice[1]"},
    {R"("structured_outputs":{"structural_tag":"x"})", "structured_outputs.structural_tag"},
    {R"("structured_outputs":{"json":{},"regex":"a"})", "structured_outputs.regex"},
};
INSTANTIATE_TEST_SUITE_P(Formats, Refusal, testing::ValuesIn(kFormatCases));

constexpr Case kToolCases[] = {
    {R"("tools":{})", "tools"},
    {R"("tools":[{"type":"custom","custom":{"name":"x"}}])", "tools[0].type"},
    {R"("tools":[{"function":{"name":"f"}}])", "tools[0].type"},
    {R"("tools":[{"type":"function"}])", "tools[0].function"},
    {R"("tools":[{"type":"function","function":{}}])", "tools[0].function.name"},
    {R"("tools":[{"type":"function","function":{"name":"a b"}}])", "tools[0].function.name"},
    {R"("tools":[{"type":"function","function":{"name":"f","parameters":[]}}])",
     "tools[0].function.parameters"},
    {R"("tools":[{"type":"function","function":{"name":"f","strict":1}}])",
     "tools[0].function.strict"},
    {R"("tools":[{"type":"function","function":{"name":"f"}},
        {"type":"function","function":{"name":"f"}}])",
     "tools[1].function.name"},
    {R"("tool_choice":"required")", "tool_choice"},
    {R"("tool_choice":"any")", "tool_choice"},
    {R"("tool_choice":{"type":"function","function":{"name":"g"}})", "tool_choice.function.name"},
    {R"("tool_choice":{"type":"function"})", "tool_choice.function"},
    {R"("tool_choice":{"type":"custom","custom":{"name":"g"}})", "tool_choice.type"},
    {R"("tool_choice":{"type":"allowed_tools"})", "tool_choice.allowed_tools"},
    {R"("tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"none","tools":[]}})",
     "tool_choice.allowed_tools.mode"},
    {R"("tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[]}})",
     "tool_choice.allowed_tools.tools"},
    {R"("parallel_tool_calls":"no")", "parallel_tool_calls"},
    {R"("functions":[{"name":"f"}])", "functions"},
    {R"("function_call":"auto")", "function_call"},
};
INSTANTIATE_TEST_SUITE_P(Tools, Refusal, testing::ValuesIn(kToolCases));

constexpr Case kOtherCases[] = {
    {R"("model":5)", "model"},
    {R"("stream":"yes")", "stream"},
    {R"("stream_options":{"include_usage":true})", "stream_options"},
    {R"("stream":true,"stream_options":{"include_obfuscation":true})",
     "stream_options.include_obfuscation"},
    {R"("stream":true,"stream_options":{"chunk":1})", "stream_options.chunk"},
    {R"("store":true)", "store"},
    {R"("metadata":{"a":1})", "metadata.a"},
    {R"("user":1)", "user"},
    {R"("service_tier":"flex")", "service_tier"},
    {R"("prompt_cache_retention":"24h")", "prompt_cache_retention"},
    {R"("reasoning_effort":"extreme")", "reasoning_effort"},
    {R"("reasoning_effort":"none","enable_thinking":true)", "reasoning_effort"},
    {R"("reasoning_budget":-2)", "reasoning_budget"},
    {R"("reasoning_budget":1,"thinking_budget":1)", "thinking_budget"},
    {R"("reasoning_format":"xml")", "reasoning_format"},
    {R"("verbosity":"high")", "verbosity"},
    {R"("modalities":["text","audio"])", "modalities[1]"},
    {R"("audio":{"voice":"x"})", "audio"},
    {R"("prediction":{"type":"content"})", "prediction"},
    {R"("web_search_options":{})", "web_search_options"},
    {R"("chat_template_kwargs":{"messages":[]})", "chat_template_kwargs.messages"},
    {R"("chat_template_kwargs":[])", "chat_template_kwargs"},
    {R"("continue_final_message":true)", "continue_final_message"},
    {R"("add_generation_prompt":true,"continue_final_message":true)", "add_generation_prompt"},
    {R"("suffix":"x")", "suffix"},
    {R"("echo":true)", "echo"},
    {R"("caller":"x")", "caller"},
    {R"("id_slot":1)", "id_slot"},
};
INSTANTIATE_TEST_SUITE_P(Others, Refusal, testing::ValuesIn(kOtherCases));

TEST(Refusal, ANamedToolIsOneOfTheRequest) {
  EXPECT_EQ(refused_field(concat(kTool, R"(,"tool_choice":{"type":"function",)",
                                 R"("function":{"name":"g"}})")),
            "tool_choice.function.name");
}

TEST(Refusal, LimitsLogitBias) {
  std::string map;
  for (int i = 0; i < 1025; ++i) {
    map += concat(i == 0 ? "" : ",", "\"", i, "\":1");
  }
  EXPECT_EQ(refused_field(concat("\"logit_bias\":{", map, "}")), "logit_bias");
}

}  // namespace
}  // namespace zllm::dialect::chat
