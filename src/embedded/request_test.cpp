#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <zllm/embedded/conversation_json.h>
#include <zllm/embedded/request_check.h>
#include <zllm/embedded/sampling_choice.h>
#include <zllm/embedded/scripted_test-inl.h>

namespace zllm {
namespace {

Request question(std::string text = "Hi") {
  return {.input = Conversation{.messages = {{.role = Role::user, .content = std::move(text)}}}};
}

Conversation& conversation(Request& request) { return std::get<Conversation>(request.input); }

// The field that a change of a good request is refused for; empty where it is not refused.
template <class Change>
std::string refused_field(Change change) {
  Request request = question();
  change(request);
  const auto checked = check_request(request, testing::small_tokenizer());
  return checked.ok() ? "" : checked.error().field;
}

TEST(CheckRequest, NamesTheFieldThatIsWrong) {
  EXPECT_EQ(refused_field([](Request&) {}), "");
  EXPECT_EQ(refused_field([](Request& r) { r.choices = 0; }), "n");
  EXPECT_EQ(refused_field([](Request& r) { r.choices = kMaxChoices + 1; }), "n");
  EXPECT_EQ(refused_field([](Request& r) { r.choices = 3, r.candidates = 2; }), "best_of");
  EXPECT_EQ(refused_field([](Request& r) { r.max_tokens = 0; }), "max_tokens");
  EXPECT_EQ(refused_field([](Request& r) { r.max_tokens = 3, r.min_tokens = 4; }), "min_tokens");
  EXPECT_EQ(refused_field([](Request& r) { r.top_log_probabilities = 21; }), "top_logprobs");
  EXPECT_EQ(refused_field([](Request& r) { r.stop = {""}; }), "stop");
  EXPECT_EQ(refused_field([](Request& r) { r.stop.assign(65, "x"); }), "stop");
  EXPECT_EQ(refused_field([](Request& r) { r.stop_tokens = {-1}; }), "stop_token_ids");
  EXPECT_EQ(refused_field([](Request& r) { r.echoes_prompt = true; }), "echo");
  EXPECT_EQ(refused_field([](Request& r) { r.time_limit_seconds = std::nan(""); }), "timeout");
  EXPECT_EQ(refused_field([](Request& r) { conversation(r).messages.clear(); }), "messages");
  EXPECT_EQ(refused_field([](Request& r) { conversation(r).continues_last_message = true; }),
            "continue_final_message");
  EXPECT_EQ(refused_field([](Request& r) { r.input = RawPrompt{std::vector<TokenId>{1 << 30}}; }),
            "prompt");
}

TEST(CheckRequest, ToolsAndTheirChoiceFitEachOther) {
  const auto with_tools = [](Request& r, ToolChoice choice) {
    conversation(r).tools = {{.name = "a", .parameters = R"({"type": "object"})"}, {.name = "b"}};
    conversation(r).tool_choice = std::move(choice);
  };
  EXPECT_EQ(refused_field([&](Request& r) { with_tools(r, {.names = {"b"}}); }), "");
  EXPECT_EQ(refused_field([&](Request& r) { with_tools(r, {.names = {"c"}}); }), "tool_choice");
  EXPECT_EQ(
      refused_field([](Request& r) { conversation(r).tool_choice.rule = ToolRule::required; }),
      "tool_choice");
  EXPECT_EQ(
      refused_field([](Request& r) { conversation(r).tools = {{.name = "a"}, {.name = "a"}}; }),
      "tools");
  EXPECT_EQ(refused_field([](Request& r) { conversation(r).tools = {{.name = ""}}; }),
            "tools[0].name");
  EXPECT_EQ(refused_field(
                [](Request& r) { conversation(r).tools = {{.name = "a", .parameters = "[]"}}; }),
            "tools[0].parameters");
  EXPECT_EQ(refused_field([](Request& r) {
              conversation(r).tools = {{.name = "a", .parameters = R"({"type": "array"})"}};
            }),
            "tools[0].parameters");
}

TEST(CheckRequest, AResultAnswersACallBeforeIt) {
  const auto with_result = [](Request& r, std::string id) {
    conversation(r).messages = {
        {.role = Role::user, .content = "Hi"},
        {.role = Role::assistant, .tool_calls = {{.id = "c1", .name = "f", .arguments = "{}"}}},
        {.role = Role::tool, .content = "1", .tool_call_id = std::move(id)}};
  };
  EXPECT_EQ(refused_field([&](Request& r) { with_result(r, "c1"); }), "");
  EXPECT_EQ(refused_field([&](Request& r) { with_result(r, ""); }), "");
  EXPECT_EQ(refused_field([&](Request& r) { with_result(r, "c2"); }), "messages[2].tool_call_id");
}

TEST(SamplingParameters, EachOptionIsCheckedByName) {
  const auto field = [](SamplingOptions options) {
    const auto made = sampling_parameters(options, {}, 100);
    return made.ok() ? std::string() : made.error().field;
  };
  EXPECT_EQ(field({}), "");
  EXPECT_EQ(field({.temperature = -1}), "temperature");
  EXPECT_EQ(field({.top_p = std::numeric_limits<double>::quiet_NaN()}), "top_p");
  EXPECT_EQ(field({.repetition_penalty = 0}), "repetition_penalty");
  EXPECT_EQ(field({.top_k = -1}), "top_k");
  EXPECT_EQ(field({.penalty_last_n = 0}), "");
  EXPECT_EQ(field({.penalty_last_n = -2}), "penalty_last_n");
  EXPECT_EQ(field({.logit_bias = {{100, 1.0}}}), "logit_bias");
}

TEST(SamplingParameters, TheModelsConfigurationStandsBehindTheOptions) {
  const Json config =
      *Json::parse(R"({"do_sample": true, "temperature": 0.6, "top_p": 0.9, "top_k": 20})", "");
  const auto made = sampling_parameters({.top_p = 0.5}, model_sampling(&config, 1), 100);
  ASSERT_TRUE(made.ok());
  auto parameters = made;
  EXPECT_EQ(parameters->temperature, 0.6);
  EXPECT_EQ(parameters->top_p, 0.5);
  EXPECT_EQ(parameters->top_k, 20);
  EXPECT_EQ(model_sampling(nullptr, 0.3).temperature, 0.3);
  const Json greedy = *Json::parse(R"({"do_sample": false, "temperature": 0.6})", "");
  EXPECT_EQ(model_sampling(&greedy, 1).temperature, 0.0);
  EXPECT_EQ(sampling_parameters({.seed = 7}, {}, 100)->seed, 7u);
  EXPECT_NE(sampling_parameters({}, {}, 100)->seed, sampling_parameters({}, {}, 100)->seed);
}

TEST(ConversationJson, IsWhatTransformersHandsToTemplates) {
  const Conversation talk{
      .messages = {{.role = Role::developer, .content = "Be brief."},
                   {.role = Role::user, .content = "\"Weather\"?"},
                   {.role = Role::assistant,
                    .reasoning = "Look it up.",
                    .tool_calls = {{.id = "c1", .name = "get", .arguments = R"({"n": 1.0})"},
                                   {.id = "c2", .name = "now", .arguments = ""},
                                   {.id = "c3", .name = "get", .arguments = "{"}}},
                   {.role = Role::tool, .content = "rain", .tool_call_id = "c1"}},
      .tools = {{.name = "get", .description = "d", .parameters = R"({"type": "object"})"}},
      .template_arguments = R"({"enable_thinking": true, "x": [1]})"};
  const ReasoningOptions reasoning{.is_enabled = false, .effort = "low"};
  auto json = conversation_json(
      {.conversation = talk, .reasoning = reasoning, .template_source = "no such role"});
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(
      *json,
      R"({"messages":[{"role":"system","content":"Be brief."},)"
      R"({"role":"user","content":"\"Weather\"?"},)"
      R"({"role":"assistant","content":null,"reasoning_content":"Look it up.",)"
      R"("tool_calls":[{"id":"c1","type":"function","function":{"name":"get","arguments":{"n": 1.0}}},)"
      R"({"id":"c2","type":"function","function":{"name":"now","arguments":{}}},)"
      R"({"id":"c3","type":"function","function":{"name":"get","arguments":"{"}}]},)"
      R"({"role":"tool","content":"rain","tool_call_id":"c1","name":"get"}],)"
      R"("tools":[{"type":"function","function":{"name":"get","description":"d","parameters":{"type": "object"}}}],)"
      R"("enable_thinking":true,"x":[1],"thinking":false,"reasoning_effort":"low"})");
}

TEST(ConversationJson, KeepsBrokenArgumentsAsTextAndRefusesItsOwnNames) {
  Conversation talk{
      .messages = {{.role = Role::assistant,
                    .content = "",
                    .tool_calls = {{.id = "", .name = "f", .arguments = "{\"a\":"}}}}};
  auto json =
      conversation_json({.conversation = talk, .reasoning = {}, .template_source = "developer"});
  EXPECT_NE(json->find(R"("arguments":"{\"a\":")"), std::string::npos);
  for (const std::string broken : {R"({"messages": []})", "[]", "{"}) {
    talk.template_arguments = broken;
    const auto refused =
        conversation_json({.conversation = talk, .reasoning = {}, .template_source = ""});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().field, "chat_template_kwargs");
    EXPECT_EQ(refused.error().kind, FailureKind::invalid);
  }
}

}  // namespace
}  // namespace zllm
