#include <zllm/dialect/anthropic/messages.h>

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <zllm/base/text.h>
#include <zllm/dialect/field_reader.h>

namespace zllm::dialect::anthropic {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const AnswerFacts kFacts{.unique = "u1", .created = 7, .model = "m"};

Json parse(std::string_view text) {
  auto json = Json::parse(text, "body");
  EXPECT_TRUE(json.ok()) << text;
  return json.ok() ? std::move(json).value() : Json();
}

// A body that is right but for the members given.
std::string body_with(std::string_view members) {
  return concat(R"({"model":"m","max_tokens":2048,"messages":[{"role":"user","content":"hi"}])",
                members.empty() ? "" : ",", members, "}");
}

std::string body_of(std::string_view messages) {
  return concat(R"({"model":"m","max_tokens":9,"messages":)", messages, "}");
}

Request accept(std::string_view body) {
  auto exchange = read(parse(body), kFacts);
  EXPECT_TRUE(exchange.ok()) << (exchange.ok() ? "" : exchange.error().message) << "\n" << body;
  return exchange.ok() ? std::move(exchange->request) : Request{};
}

Conversation conversation_of(std::string_view body) {
  return std::get<Conversation>(accept(body).input);
}

// The field that is to blame.
std::string refused(std::string_view body) {
  const auto exchange = read(parse(body), kFacts);
  EXPECT_FALSE(exchange.ok()) << body;
  if (exchange.ok()) {
    return "";
  }
  EXPECT_THAT(exchange.error().message, HasSubstr(exchange.error().field));
  return exchange.error().field;
}

TEST(Messages, ReadsSamplingAndLimits) {
  const Request request = accept(body_with(
      R"("temperature":0.5,"top_p":0.25,"top_k":3,"stop_sequences":["a","bc"],"service_tier":"auto",)"
      R"("metadata":{"user_id":"u"},"system":null,"stream":true)"));
  EXPECT_EQ(request.max_tokens, 2048U);
  EXPECT_EQ(request.sampling.temperature, 0.5);
  EXPECT_EQ(request.sampling.top_p, 0.25);
  EXPECT_EQ(request.sampling.top_k, 3);
  EXPECT_THAT(request.stop, ElementsAre("a", "bc"));
}

TEST(Messages, RefusesByName) {
  struct Case {
    std::string_view members;
    std::string_view field;
  };
  const std::vector<Case> cases = {
      {R"("temperature":1.5)", "temperature"},
      {R"("temperature":"1")", "temperature"},
      {R"("top_p":-0.5)", "top_p"},
      {R"("top_k":-1)", "top_k"},
      {R"("stop_sequences":[""])", "stop_sequences.0"},
      {R"("stop_sequences":"a")", "stop_sequences"},
      {R"("stream":1)", "stream"},
      {R"("metadata":{"a":"b"})", "metadata.a"},
      {R"("service_tier":"gold")", "service_tier"},
      {R"("container":"c")", "container"},
      {R"("mcp_servers":[])", "mcp_servers"},
      {R"("context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]})",
       "context_management.edits.0"},
      {R"("seed":1)", "seed"},
      {R"("speed":"fast")", "speed"},
      {R"("diagnostics":{})", "diagnostics"},
      {R"("inference_geo":"eu")", "inference_geo"},
      {R"("system":5)", "system"},
      {R"("system":[{"type":"image"}])", "system.0.type"},
      {R"("thinking":{"type":"on"})", "thinking.type"},
      {R"("thinking":{"type":"enabled"})", "thinking.budget_tokens"},
      {R"("thinking":{"type":"enabled","budget_tokens":0})", "thinking.budget_tokens"},
      {R"("thinking":{"type":"enabled","budget_tokens":2048})", "thinking.budget_tokens"},
      {R"("thinking":{"type":"disabled","budget_tokens":9})", "thinking.budget_tokens"},
      {R"("output_config":{"effort":"some"})", "output_config.effort"},
      {R"("output_config":{"format":{"type":"json_schema"}})", "output_config.format.schema"},
      {R"("output_format":{"type":"xml","schema":{}})", "output_format.type"},
      {R"("tool_choice":{"type":"auto"})", "tool_choice"},
      {R"("tools":[{"name":"a b","input_schema":{}}])", "tools.0.name"},
      {R"("tools":[{"name":"a"}])", "tools.0.input_schema"},
      {R"("tools":[{"type":"web_search_20250305","name":"web_search"}])", "tools.0.type"},
      {R"("tools":[{"name":"a","input_schema":{}},{"name":"a","input_schema":{}}])",
       "tools.1.name"},
      {R"("tools":[{"name":"a","input_schema":{},"input_examples":[{}]}])",
       "tools.0.input_examples"},
      {R"("tools":[{"name":"a","input_schema":{}}],"tool_choice":{"type":"tool","name":"b"})",
       "tool_choice.name"},
      {R"("tools":[{"name":"a","input_schema":{}}],"tool_choice":{"type":"some"})",
       "tool_choice.type"},
      {R"("cache_control":{"type":"eternal"})", "cache_control.type"},
  };
  for (const Case& test : cases) {
    EXPECT_EQ(refused(body_with(test.members)), test.field) << test.members;
  }
  EXPECT_EQ(refused(R"({"max_tokens":1,"messages":[{"role":"user","content":"a"}]})"), "model");
  EXPECT_EQ(refused(R"({"model":"m","messages":[{"role":"user","content":"a"}]})"), "max_tokens");
  EXPECT_EQ(refused(R"({"model":"m","max_tokens":0,"messages":[{"role":"user","content":"a"}]})"),
            "max_tokens");
}

TEST(Messages, RefusesBlocksByPlace) {
  struct Case {
    std::string_view messages;
    std::string_view field;
  };
  const std::vector<Case> cases = {
      {"[]", "messages"},
      {R"([{"role":"tool","content":"a"}])", "messages.0.role"},
      {R"([{"role":"user"}])", "messages.0.content"},
      {R"([{"role":"user","content":[]}])", "messages.0.content"},
      {R"([{"role":"user","content":[{"text":"a"}]}])", "messages.0.content.0.type"},
      {R"([{"role":"user","content":[{"type":"image","source":{}}]}])",
       "messages.0.content.0.type"},
      {R"([{"role":"user","content":[{"type":"document"}]}])", "messages.0.content.0.type"},
      {R"([{"role":"user","content":[{"type":"text","text":"a","b":1}]}])",
       "messages.0.content.0.b"},
      {R"([{"role":"user","content":[{"type":"thinking","thinking":"a"}]}])",
       "messages.0.content.0.type"},
      {R"([{"role":"user","content":[{"type":"tool_result","tool_use_id":"x"}]}])",
       "messages.0.content.0.tool_use_id"},
      {R"([{"role":"assistant","content":[{"type":"tool_use","id":"x","name":"f","input":"{}"}]}])",
       "messages.0.content.0.input"},
      {R"([{"role":"assistant","content":[{"type":"tool_use","id":"x","name":"f","input":{}}]}])",
       "messages"},
      {R"([{"role":"assistant","content":""}])", "messages"},
      {R"([{"role":"system","content":"s"},{"role":"user","content":"a"}])", "messages.0.role"},
      {R"([{"role":"user","content":""}])", "messages.0.content"},
      {R"([{"role":"user","content":[{"type":"text","text":" \n"}]}])",
       "messages.0.content.0.text"},
      {R"([{"role":"user","content":"a"},{"role":"assistant","content":"b "}])", "messages"},
  };
  for (const Case& test : cases) {
    EXPECT_EQ(refused(body_of(test.messages)), test.field) << test.messages;
  }
}

TEST(Messages, ReadsTurns) {
  const Conversation conversation = conversation_of(
      R"({"model":"m","max_tokens":9,"system":[{"type":"text","text":"s1","cache_control":{"type":"ephemeral","ttl":"1h"}},{"type":"text","text":"s2"}],"messages":[)"
      R"({"role":"user","content":"u1"},{"role":"user","content":[{"type":"text","text":"u2"}]},)"
      R"({"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},)"
      R"({"type":"redacted_thinking","data":"x"},{"type":"text","text":"a","citations":null},)"
      R"({"type":"tool_use","id":"toolu_c1","name":"f","input":{"x":1}},)"
      R"({"type":"tool_use","id":"toolu_c2","name":"g","input":{}}]},)"
      R"({"role":"user","content":[{"type":"text","text":"after"},)"
      R"({"type":"tool_result","tool_use_id":"toolu_c1","content":"r1"},)"
      R"({"type":"tool_result","tool_use_id":"toolu_c2","is_error":true,"content":[{"type":"text","text":"r2"}]}]}]})");
  const std::vector<Message>& turns = conversation.messages;
  ASSERT_EQ(turns.size(), 6U);
  EXPECT_EQ(turns[0].role, Role::system);
  EXPECT_EQ(turns[0].content, "s1\ns2");
  EXPECT_EQ(turns[1].content, "u1\nu2");
  EXPECT_EQ(turns[2].role, Role::assistant);
  EXPECT_EQ(turns[2].content, "a");
  EXPECT_EQ(turns[2].reasoning, "t");
  ASSERT_EQ(turns[2].tool_calls.size(), 2U);
  EXPECT_EQ(turns[2].tool_calls[0].id, "c1");
  EXPECT_EQ(turns[2].tool_calls[0].arguments, R"({"x":1})");
  EXPECT_EQ(turns[3].role, Role::tool);
  EXPECT_EQ(turns[3].tool_call_id, "c1");
  EXPECT_EQ(turns[3].name, "f");
  EXPECT_EQ(turns[3].content, "r1");
  EXPECT_EQ(turns[4].content, "Error: r2");
  EXPECT_EQ(turns[5].role, Role::user);
  EXPECT_EQ(turns[5].content, "after");
  EXPECT_FALSE(conversation.continues_last_message);
}

TEST(Messages, EveryCallHasItsResultNext) {
  const std::string_view calls = R"([{"role":"user","content":"u"},{"role":"assistant","content":[)"
                                 R"({"type":"tool_use","id":"toolu_1","name":"f","input":{}},)"
                                 R"({"type":"tool_use","id":"toolu_2","name":"f","input":{}}]},)";
  const std::string first = R"({"type":"tool_result","tool_use_id":"toolu_1","content":"1"})";
  const std::string second = R"({"type":"tool_result","tool_use_id":"toolu_2","content":"2"})";
  const auto results = [&](const std::string& blocks) {
    return body_of(concat(calls, R"({"role":"user","content":[)", blocks, "]}]"));
  };
  EXPECT_EQ(conversation_of(results(concat(first, ",", second))).messages.size(), 4U);
  // Consecutive messages of a user are one.
  EXPECT_EQ(conversation_of(results(concat(second, R"(]},{"role":"user","content":[)", first)))
                .messages.size(),
            4U);
  EXPECT_EQ(refused(results(first)), "messages.1.content.1");
  EXPECT_EQ(refused(results(R"({"type":"text","text":"later"})")), "messages.1.content.1");
  EXPECT_EQ(refused(results(concat(first, ",", second, ",", first))),
            "messages.2.content.2.tool_use_id");
}

TEST(Messages, PrefillGoesOn) {
  const std::string_view user = R"([{"role":"user","content":"u"},)";
  EXPECT_TRUE(conversation_of(body_of(concat(user, R"({"role":"assistant","content":"a"}])")))
                  .continues_last_message);
  const Conversation empty =
      conversation_of(body_of(concat(user, R"({"role":"assistant","content":""}])")));
  EXPECT_FALSE(empty.continues_last_message);
  EXPECT_EQ(empty.messages.size(), 1U);
}

TEST(Messages, ReadsTools) {
  const std::string tools =
      R"("tools":[{"type":"custom","name":"f","description":"d","input_schema":{"type":"object"},"strict":true,"cache_control":{"type":"ephemeral"},"allowed_callers":["direct"]},{"name":"g","input_schema":{}}],)";
  const Conversation any = conversation_of(
      body_with(tools + R"("tool_choice":{"type":"any","disable_parallel_tool_use":true})"));
  ASSERT_EQ(any.tools.size(), 2U);
  EXPECT_EQ(any.tools[0].parameters, R"({"type":"object"})");
  EXPECT_TRUE(any.tools[0].is_strict);
  EXPECT_FALSE(any.tools[1].is_strict);
  EXPECT_EQ(any.tool_choice.rule, ToolRule::required);
  EXPECT_FALSE(any.allows_parallel_calls);
  const Conversation named =
      conversation_of(body_with(tools + R"("tool_choice":{"type":"tool","name":"g"})"));
  EXPECT_THAT(named.tool_choice.names, ElementsAre("g"));
  EXPECT_TRUE(named.allows_parallel_calls);
  EXPECT_EQ(conversation_of(body_with(tools + R"("tool_choice":{"type":"none"})")).tool_choice.rule,
            ToolRule::none);
}

TEST(Messages, ReadsThinkingAndFormat) {
  EXPECT_EQ(accept(body_with("")).reasoning.is_enabled, false);
  const Request budget = accept(body_with(R"("thinking":{"type":"enabled","budget_tokens":1024})"));
  EXPECT_EQ(budget.reasoning.is_enabled, true);
  EXPECT_EQ(budget.reasoning.budget, 1024U);
  const Request adaptive =
      accept(body_with(R"("thinking":{"type":"adaptive"},"output_config":{"effort":"high",)"
                       R"("format":{"type":"json_schema","schema":{"type":"object"}}})"));
  EXPECT_EQ(adaptive.reasoning.is_enabled, true);
  EXPECT_EQ(adaptive.reasoning.budget, std::nullopt);
  EXPECT_EQ(adaptive.reasoning.effort, "high");
  EXPECT_EQ(adaptive.format.kind, FormatKind::json_schema);
  EXPECT_EQ(adaptive.format.source, R"({"type":"object"})");
}

TEST(Messages, CountTakesPromptFieldsAlone) {
  const std::string_view head =
      R"({"model":"m","system":"s","messages":[{"role":"user","content":"u"}])";
  const auto request =
      read_count(parse(concat(head, R"(,"thinking":{"type":"enabled","budget_tokens":16000}})")));
  ASSERT_TRUE(request.ok());
  const auto refusal = read_count(parse(concat(head, R"(,"max_tokens":1})")));
  ASSERT_FALSE(refusal.ok());
  EXPECT_EQ(refusal.error().field, "max_tokens");
  EXPECT_EQ(count_body(5), R"({"input_tokens":5})");
}

TEST(Messages, ErrorsHaveTheirShape) {
  EXPECT_EQ(error_body({FailureKind::busy, "Later."}, "req_1"),
            R"({"type":"error","error":{"type":"rate_limit_error","message":"Later."},)"
            R"("request_id":"req_1"})");
  struct Case {
    Failure failure;
    std::string_view type;
  };
  const std::vector<Case> cases = {
      {{FailureKind::invalid, "x"}, "invalid_request_error"},
      {{FailureKind::too_long, "x"}, "invalid_request_error"},
      {{FailureKind::unsupported, "x"}, "invalid_request_error"},
      {{FailureKind::not_found, "x"}, "not_found_error"},
      {{FailureKind::loading, "x"}, "overloaded_error"},
      {{FailureKind::deadline, "x"}, "timeout_error"},
      {{FailureKind::shut_down, "x"}, "overloaded_error"},
      {{FailureKind::out_of_memory, "x"}, "overloaded_error"},
      {{FailureKind::internal, "x"}, "api_error"},
      {{FailureKind::invalid, "x", "", "request_too_large"}, "request_too_large"},
      {{FailureKind::invalid, "x", "", "invalid_api_key"}, "authentication_error"},
  };
  for (const Case& test : cases) {
    EXPECT_THAT(error_body(test.failure, ""), HasSubstr(concat(R"("type":")", test.type, "\"")));
  }
  EXPECT_THAT(error_body({FailureKind::invalid, "It is bad.", "top_k"}, ""),
              HasSubstr("top_k: It is bad."));
  EXPECT_THAT(error_body({FailureKind::invalid, "Bad.", "tools[3].parameters"}, ""),
              HasSubstr("tools.3.input_schema: Bad."));
  EXPECT_THAT(error_body({FailureKind::invalid, "Bad.", "stop"}, ""),
              HasSubstr("stop_sequences: Bad."));
  // A reader has named its own.
  EXPECT_THAT(error_body(unsupported_field("stop", "no"), ""),
              HasSubstr(R"("message":"Unsupported parameter: 'stop')"));
}

}  // namespace
}  // namespace zllm::dialect::anthropic
