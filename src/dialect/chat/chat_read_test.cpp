#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <gtest/gtest.h>

#include <zllm/base/json.h>
#include <zllm/base/text.h>
#include <zllm/dialect/chat/chat.h>

namespace zllm::dialect::chat {
namespace {

Exchange read_text_of_body(const std::string& text) {
  const auto json = Json::parse(text, "body");
  EXPECT_TRUE(json.ok()) << text;
  auto exchange = read(*json, {});
  EXPECT_TRUE(exchange.ok()) << text << (exchange.ok() ? "" : exchange.error().message);
  return std::move(exchange).value();
}

Request read_members(std::string_view members) {
  return read_text_of_body(
             concat(R"({"model":"m","messages":[{"role":"user","content":"hi"}],)", members, "}"))
      .request;
}

const Conversation& conversation(const Request& request) {
  return std::get<Conversation>(request.input);
}

TEST(ChatRead, SamplingLandsInTheRequest) {
  const Request request = read_members(
      R"("temperature":0.5,"top_p":0.9,"top_k":40,"min_p":0.05,"typical_p":0.95,
         "repetition_penalty":1.1,"penalty_last_n":64,"presence_penalty":-2,
         "frequency_penalty":2,"seed":-1,"logit_bias":{"5":-100,"7":1.5})");
  const SamplingOptions& sampling = request.sampling;
  EXPECT_EQ(sampling.temperature, 0.5);
  EXPECT_EQ(sampling.top_p, 0.9);
  EXPECT_EQ(sampling.top_k, 40);
  EXPECT_EQ(sampling.min_p, 0.05);
  EXPECT_EQ(sampling.typical_p, 0.95);
  EXPECT_EQ(sampling.repetition_penalty, 1.1);
  EXPECT_EQ(sampling.penalty_last_n, 64);
  EXPECT_EQ(sampling.presence_penalty, -2);
  EXPECT_EQ(sampling.frequency_penalty, 2);
  EXPECT_EQ(sampling.seed, ~std::uint64_t{0});
  ASSERT_EQ(sampling.logit_bias.size(), 2U);
  EXPECT_EQ(sampling.logit_bias[1], (std::pair<TokenId, double>(7, 1.5)));
}

TEST(ChatRead, OffIsAllowed) {
  EXPECT_EQ(read_members(R"("top_k":-1)").sampling.top_k, 0);
  EXPECT_EQ(read_members(R"("penalty_last_n":0)").sampling.penalty_last_n, 0);
  EXPECT_EQ(read_members(R"("repeat_last_n":-1)").sampling.penalty_last_n, -1);
  EXPECT_EQ(read_members(R"("repeat_penalty":1.5)").sampling.repetition_penalty, 1.5);
  EXPECT_EQ(read_members(R"("seed":18446744073709551615)").sampling.seed, ~std::uint64_t{0});
  EXPECT_GT(read_members(R"("top_p":0)").sampling.top_p, 0.0);
}

TEST(ChatRead, NullIsAbsent) {
  const Request request = read_members(
      R"("temperature":null,"stop":null,"seed":null,"tools":null,"tool_choice":null,
         "response_format":null,"max_tokens":null,"n":null,"stream":null,"stream_options":null,
         "logprobs":null,"top_logprobs":null,"logit_bias":null,"audio":null,"functions":null,
         "function_call":null,"metadata":null,"store":null,"user":null,"modalities":null,
         "service_tier":null,"reasoning_effort":null,"verbosity":null,"prediction":null)");
  EXPECT_EQ(request.sampling.temperature, std::nullopt);
  EXPECT_EQ(request.choices, 1U);
  EXPECT_EQ(request.max_tokens, std::nullopt);
  EXPECT_EQ(request.top_log_probabilities, std::nullopt);
  EXPECT_TRUE(request.caller.empty());
}

TEST(ChatRead, GenerationLandsInTheRequest) {
  const Request request = read_members(
      R"("max_completion_tokens":20.0,"min_tokens":3,"n":2,"best_of":4,"stop":["a","b"],
         "stop_token_ids":[1,2],"ignore_eos":true,"cache_prompt":false,"priority":-3,
         "time_limit_seconds":1.5,"logprobs":true,"top_logprobs":5,"user":"u",
         "safety_identifier":"s","prompt_cache_key":"k","metadata":{"a":"b"},"store":false,
         "service_tier":"auto","modalities":["text"],"verbosity":"medium")");
  EXPECT_EQ(request.max_tokens, 20U);
  EXPECT_EQ(request.min_tokens, 3U);
  EXPECT_EQ(request.choices, 2U);
  EXPECT_EQ(request.candidates, 4U);
  EXPECT_EQ(request.stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(request.stop_tokens, (std::vector<TokenId>{1, 2}));
  EXPECT_TRUE(request.ignores_end);
  EXPECT_FALSE(request.uses_prefix_cache);
  EXPECT_EQ(request.priority, -3);
  EXPECT_EQ(request.time_limit_seconds, 1.5);
  EXPECT_EQ(request.top_log_probabilities, 5U);
  EXPECT_EQ(read_members(R"("stop":"x")").stop, std::vector<std::string>{"x"});
  EXPECT_EQ(read_members(R"("max_tokens":7)").max_tokens, 7U);
  EXPECT_EQ(read_members(R"("logprobs":true)").top_log_probabilities, 0U);
}

TEST(ChatRead, MessagesKeepTheirParts) {
  const Request request = read_text_of_body(R"({"messages":[
        {"role":"developer","content":"d","name":"boss"},
        {"role":"system","content":[{"type":"text","text":"s"}]},
        {"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
        {"role":"assistant","content":null,"refusal":null,"annotations":[],"audio":null,
         "reasoning_content":"why","tool_calls":[{"id":"c1","type":"function","index":0,
         "function":{"name":"f","arguments":"{\"x\": 1}"}}]},
        {"role":"tool","tool_call_id":"c1","content":"42"},
        {"role":"assistant","content":[{"type":"refusal","refusal":"no"}]}]})")
                              .request;
  const auto& messages = conversation(request).messages;
  ASSERT_EQ(messages.size(), 6U);
  EXPECT_EQ(messages[0].role, Role::developer);
  EXPECT_EQ(messages[0].name, "boss");
  EXPECT_EQ(messages[1].content, "s");
  EXPECT_EQ(messages[2].content, "a\nb");
  EXPECT_EQ(messages[3].content, std::nullopt);
  EXPECT_EQ(messages[3].reasoning, "why");
  ASSERT_EQ(messages[3].tool_calls.size(), 1U);
  EXPECT_EQ(messages[3].tool_calls[0].id, "c1");
  EXPECT_EQ(messages[3].tool_calls[0].arguments, "{\"x\": 1}");
  EXPECT_EQ(messages[4].role, Role::tool);
  EXPECT_EQ(messages[4].tool_call_id, "c1");
  EXPECT_EQ(messages[5].content, "no");
}

TEST(ChatRead, ToolsAndChoices) {
  const std::string tools =
      R"("tools":[{"type":"function","function":{"name":"f","description":"d","strict":true,
         "parameters":{"type":"object","properties":{}}}},
         {"type":"function","function":{"name":"g"}}])";
  const Request plain = read_members(tools);
  const Conversation& talk = conversation(plain);
  ASSERT_EQ(talk.tools.size(), 2U);
  EXPECT_EQ(talk.tools[0].parameters, R"({"type":"object","properties":{}})");
  EXPECT_TRUE(talk.tools[0].is_strict);
  EXPECT_EQ(talk.tools[0].description, "d");
  EXPECT_EQ(talk.tools[1].parameters, "");
  EXPECT_EQ(talk.tool_choice.rule, ToolRule::automatic);
  EXPECT_TRUE(talk.allows_parallel_calls);

  const auto choice = [&](std::string_view text) {
    return conversation(read_members(concat(tools, ",", text))).tool_choice;
  };
  EXPECT_EQ(choice(R"("tool_choice":"none")").rule, ToolRule::none);
  EXPECT_EQ(choice(R"("tool_choice":"required")").rule, ToolRule::required);
  const ToolChoice named = choice(R"("tool_choice":{"type":"function","function":{"name":"g"}})");
  EXPECT_EQ(named.rule, ToolRule::required);
  EXPECT_EQ(named.names, std::vector<std::string>{"g"});
  const ToolChoice allowed =
      choice(R"("tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[
                {"type":"function","function":{"name":"f"}}]}})");
  EXPECT_EQ(allowed.rule, ToolRule::automatic);
  EXPECT_EQ(allowed.names, std::vector<std::string>{"f"});
  const Request serial = read_members(concat(tools, R"(,"parallel_tool_calls":false)"));
  EXPECT_FALSE(conversation(serial).allows_parallel_calls);
}

struct FormatCase {
  std::string_view members;
  FormatKind kind;
  std::string_view source;
};

TEST(ChatRead, FormatsLandInTheRequest) {
  const FormatCase cases[] = {
      {R"("response_format":{"type":"text"})", FormatKind::text, ""},
      {R"("response_format":{"type":"json_object"})", FormatKind::json_object, ""},
      {R"("response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,
          "description":"d","schema":{"type":"object","x":[1,2.5]}}})",
       FormatKind::json_schema, R"({"type":"object","x":[1,2.5]})"},
      {R"("response_format":{"type":"json_object","schema":{"a":1}})", FormatKind::json_schema,
       R"({"a":1})"},
      {R"("response_format":{"type":"text"},"grammar":"root ::= \"a\"")", FormatKind::gbnf,
       "root ::= \"a\""},
      {R"("json_schema":{"a":1})", FormatKind::json_schema, R"({"a":1})"},
      {R"("guided_json":"{\"a\": 1}")", FormatKind::json_schema, R"({"a":1})"},
      {R"("guided_regex":"a+")", FormatKind::regex, "a+"},
      {R"("guided_choice":["a.b","c"])", FormatKind::regex, "(a\\.b|c)"},
      {R"("guided_grammar":"start: \"a\"")", FormatKind::lark, "start: \"a\""},
      {R"("structured_outputs":{"grammar":"root ::= \"a\""})", FormatKind::gbnf, "root ::= \"a\""},
      {R"("structured_outputs":{"json":{"a":1}})", FormatKind::json_schema, R"({"a":1})"},
  };
  for (const FormatCase& format_case : cases) {
    const Request request = read_members(format_case.members);
    EXPECT_EQ(request.format.kind, format_case.kind) << format_case.members;
    EXPECT_EQ(request.format.source, format_case.source) << format_case.members;
  }
}

TEST(ChatRead, AFormatKnowsTheFieldThatAskedForIt) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {R"("response_format":{"type":"json_object"})", "response_format"},
      {R"("grammar":"root ::= \"a\"")", "grammar"},
      {R"("guided_choice":["a"])", "guided_choice"},
      {R"("structured_outputs":{"regex":"a"})", "structured_outputs.regex"},
  };
  for (const auto& [members, field] : cases) {
    EXPECT_EQ(read_members(members).format.field, field);
  }
}

TEST(ChatRead, ReasoningLandsInTheRequest) {
  EXPECT_EQ(read_members(R"("reasoning_effort":"none")").reasoning.is_enabled, false);
  EXPECT_EQ(read_members(R"("reasoning_effort":"high")").reasoning.effort, "high");
  EXPECT_EQ(read_members(R"("enable_thinking":true)").reasoning.is_enabled, true);
  EXPECT_EQ(read_members(R"("reasoning_budget":0)").reasoning.budget, 0U);
  EXPECT_EQ(read_members(R"("thinking_budget":9)").reasoning.budget, 9U);
  EXPECT_EQ(read_members(R"("thinking_token_budget":-1)").reasoning.budget, std::nullopt);
  EXPECT_TRUE(read_members(R"("reasoning_format":"auto")").reasoning.is_separate);
  EXPECT_FALSE(read_members(R"("reasoning_format":"none")").reasoning.is_separate);
  const Request request =
      read_members(R"("chat_template_kwargs":{"enable_thinking":false,"thinking":true})");
  EXPECT_EQ(request.reasoning.is_enabled, false);
  EXPECT_EQ(conversation(request).template_arguments, R"({"thinking":true})");
}

TEST(ChatRead, ContinuesTheLastMessage) {
  const Exchange exchange = read_text_of_body(
      R"({"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}],
          "continue_final_message":true,"add_generation_prompt":false,"stream":true})");
  EXPECT_TRUE(conversation(exchange.request).continues_last_message);
  EXPECT_FALSE(conversation(exchange.request).opens_answer);
  EXPECT_TRUE(exchange.is_streaming);
}

TEST(ChatRead, APromptNeedNotOpenAnAnswer) {
  const Request request = read_members(R"("add_generation_prompt":false)");
  EXPECT_FALSE(conversation(request).opens_answer);
  EXPECT_FALSE(conversation(request).continues_last_message);
  EXPECT_TRUE(conversation(read_members(R"("add_generation_prompt":true)")).opens_answer);
}

TEST(ChatRead, WhoAsksForATierIsToldTheTier) {
  const auto tells_tier = [](std::string_view members) {
    const Exchange exchange =
        read_text_of_body(concat(R"({"messages":[{"role":"user","content":"a"}])", members, "}"));
    return exchange.encoder->body().find(R"("service_tier":"default")") != std::string::npos;
  };
  EXPECT_TRUE(tells_tier(R"(,"service_tier":"auto")"));
  EXPECT_FALSE(tells_tier(""));
}

}  // namespace
}  // namespace zllm::dialect::chat
