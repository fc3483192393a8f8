#include <zllm/dialect/responses/responses.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <zllm/base/text.h>

namespace zllm::dialect::responses {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

AnswerFacts facts(std::string unique = "u1") {
  return {.unique = std::move(unique), .created = 7, .model = "m"};
}

Json parse(std::string_view text) {
  auto json = Json::parse(text, "body");
  EXPECT_TRUE(json.ok()) << text;
  return json.ok() ? std::move(json).value() : Json();
}

std::string body_with(std::string_view members) {
  return concat(R"({"model":"m","input":"hi")", members.empty() ? "" : ",", members, "}");
}

class Responses : public testing::Test {
 protected:
  ResponseExchange accept(std::string_view body, std::string unique = "u1",
                          const std::string& caller = "me") {
    auto exchange = read(parse(body), facts(std::move(unique)), caller, store_);
    EXPECT_TRUE(exchange.ok()) << (exchange.ok() ? "" : exchange.error().message) << "\n" << body;
    return exchange.ok() ? std::move(exchange).value() : ResponseExchange{};
  }
  Conversation conversation_of(std::string_view body, std::string unique = "u1") {
    return std::get<Conversation>(accept(body, std::move(unique)).exchange.request.input);
  }
  Failure refuse(std::string_view body, const std::string& caller = "me") {
    auto exchange = read(parse(body), facts(), caller, store_);
    EXPECT_FALSE(exchange.ok()) << body;
    return exchange.ok() ? Failure() : std::move(exchange).error();
  }
  // Answers with these events, without a stream.
  void answer(ResponseExchange& exchange, const std::vector<Event>& events) {
    for (const Event& event : events) {
      exchange.exchange.encoder->collect(event);
    }
  }
  std::vector<Event> text_answer(std::string text) {
    return {{.what = Started{}},
            {.what = ContentDelta{std::move(text)}},
            {.what = ChoiceEnded{}},
            {.what = Ended{}}};
  }

  std::shared_ptr<ResponseStore> store_ = std::make_shared<ResponseStore>(StoreLimits{});
};

TEST_F(Responses, RefusesByName) {
  struct Case {
    std::string_view members;
    std::string_view field;
  };
  const std::vector<Case> cases = {
      {R"("conversation":"c")", "conversation"},
      {R"("prompt":{"id":"p"})", "prompt"},
      {R"("context_management":[])", "context_management"},
      {R"("truncation":"some")", "truncation"},
      {R"("max_output_tokens":0)", "max_output_tokens"},
      {R"("max_tool_calls":0)", "max_tool_calls"},
      {R"("temperature":2.5)", "temperature"},
      {R"("top_p":2)", "top_p"},
      {R"("top_logprobs":21)", "top_logprobs"},
      {R"("n":2)", "n"},
      {R"("stop":[1])", "stop[0]"},
      {R"("include":["file_search_call.results"])", "include[0]"},
      {R"("stream_options":{"include_obfuscation":false})", "stream_options"},
      {R"("stream":true,"stream_options":{"include_obfuscation":true})",
       "stream_options.include_obfuscation"},
      {R"("background":true,"store":false)", "background"},
      {R"("metadata":{"a":1})", "metadata.a"},
      {R"("service_tier":"gold")", "service_tier"},
      {R"("prompt_cache_retention":"1h")", "prompt_cache_retention"},
      {R"("prompt_cache_options":{"mode":"explicit"})", "prompt_cache_options.mode"},
      {R"("prompt_cache_options":{"ttl":"30m"})", "prompt_cache_options.ttl"},
      {R"("background_options":{})", "background_options"},
      {R"("reasoning":{"mode":"pro"})", "reasoning.mode"},
      {R"("reasoning":{"context":"all_turns"})", "reasoning.context"},
      {R"("tools":[{"type":"function","name":"f","output_schema":{}}])", "tools[0].output_schema"},
      {R"("tools":[{"type":"function","name":"f","defer_loading":true}])",
       "tools[0].defer_loading"},
      {R"("user":1)", "user"},
      {R"("instructions":[])", "instructions"},
      {R"("text":{"format":{"type":"xml"}})", "text.format.type"},
      {R"("text":{"format":{"type":"json_schema","name":"n"}})", "text.format.schema"},
      {R"("text":{"verbosity":"low"})", "text.verbosity"},
      {R"("reasoning":{"effort":"some"})", "reasoning.effort"},
      {R"("reasoning":{"summary":"long"})", "reasoning.summary"},
      {R"("tools":[{"type":"web_search"}])", "tools[0].type"},
      {R"("tools":[{"type":"custom"}])", "tools[0].name"},
      {R"("tools":[{"type":"custom","name":"a","parameters":{}}])", "tools[0].parameters"},
      {R"("tools":[{"type":"custom","name":"a","format":{"type":"xml"}}])", "tools[0].format.type"},
      {R"("tools":[{"type":"custom","name":"a","format":{"type":"grammar","syntax":"regex"}}])",
       "tools[0].format.definition"},
      {R"("tools":[{"type":"custom","name":"a","format":{"type":"grammar","syntax":"lark",)"
       R"("definition":"start: \"x\" start"}}])",
       "tools[0].format.definition"},
      {R"("tools":[{"type":"custom","name":"a","format":{"type":"grammar","syntax":"abnf",)"
       R"("definition":"x"}}])",
       "tools[0].format.syntax"},
      {R"("tools":[{"type":"function"}])", "tools[0].name"},
      {R"("tools":[{"type":"function","name":"f"},{"type":"function","name":"f"}])",
       "tools[1].name"},
      {R"("tool_choice":"required")", "tool_choice"},
      {R"("tool_choice":{"type":"function","name":"f"})", "tool_choice.name"},
      {R"("tool_choice":{"type":"file_search"})", "tool_choice.type"},
      {R"("top_secret":1)", "top_secret"},
  };
  for (const Case& test : cases) {
    const Failure failure = refuse(body_with(test.members));
    EXPECT_EQ(failure.field, test.field) << test.members;
    EXPECT_THAT(failure.message, HasSubstr(std::string(test.field)));
  }
}

TEST_F(Responses, RefusesItemsByPlace) {
  struct Case {
    std::string_view input;
    std::string_view field;
  };
  const std::vector<Case> cases = {
      {"5", "input"},
      {"[]", "input"},
      {"[{}]", "input[0].type"},
      {R"([{"role":"tool","content":"a"}])", "input[0].role"},
      {R"([{"role":"user"}])", "input[0].content"},
      {R"([{"role":"user","content":[{"type":"input_image"}]}])", "input[0].content[0].type"},
      {R"([{"role":"user","content":[{"type":"input_text"}]}])", "input[0].content[0].text"},
      {R"([{"role":"user","content":"a","name":"b"}])", "input[0].name"},
      {R"([{"type":"computer_call"}])", "input[0].type"},
      {R"([{"type":"function_call","name":"f","arguments":"{}"}])", "input[0].call_id"},
      {R"([{"type":"function_call_output","call_id":"c","output":"x"}])", "input[0].call_id"},
      {R"([{"type":"reasoning","summary":[],"encrypted_content":"x"}])",
       "input[0].encrypted_content"},
      {R"([{"type":"item_reference","id":"msg_x_0"}])", "input[0].id"},
  };
  for (const Case& test : cases) {
    EXPECT_EQ(refuse(concat(R"({"input":)", test.input, "}")).field, test.field) << test.input;
  }
  EXPECT_EQ(refuse(R"({"model":"m"})").field, "input");
}

TEST_F(Responses, ReadsItemsAsTurns) {
  const Conversation conversation = conversation_of(
      R"({"instructions":"be","input":[{"role":"developer","content":"d"},)"
      R"({"type":"message","role":"user","content":[{"type":"input_text","text":"u1"},{"type":"input_text","text":"u2"}]},)"
      R"({"type":"reasoning","id":"rs_1","summary":[],"content":[{"type":"reasoning_text","text":"t"}],"encrypted_content":null,"status":"completed"},)"
      R"({"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"a","annotations":[],"logprobs":[]}]},)"
      R"({"type":"function_call","id":"fc_1","call_id":"c1","name":"f","arguments":"{}","status":"completed"},)"
      R"({"type":"function_call","call_id":"c2","name":"g","arguments":"{}"},)"
      R"({"type":"function_call_output","call_id":"c2","output":"r2"},)"
      R"({"type":"function_call_output","call_id":"c1","output":[{"type":"input_text","text":"r1"}]}]})");
  const std::vector<Message>& turns = conversation.messages;
  ASSERT_EQ(turns.size(), 5U);
  EXPECT_EQ(turns[0].role, Role::system);
  EXPECT_EQ(turns[0].content, "be\n\nd");
  EXPECT_EQ(turns[1].content, "u1\nu2");
  EXPECT_EQ(turns[2].role, Role::assistant);
  EXPECT_EQ(turns[2].reasoning, "t");
  EXPECT_EQ(turns[2].content, "a");
  ASSERT_EQ(turns[2].tool_calls.size(), 2U);
  EXPECT_EQ(turns[2].tool_calls[1].id, "c2");
  EXPECT_EQ(turns[3].tool_call_id, "c2");
  EXPECT_EQ(turns[3].name, "g");
  EXPECT_EQ(turns[4].content, "r1");
}

TEST_F(Responses, TruncationDropsTheOldest) {
  EXPECT_FALSE(conversation_of(body_with("")).drops_oldest);
  EXPECT_FALSE(conversation_of(body_with(R"("truncation":"disabled")")).drops_oldest);
  const ResponseExchange exchange = accept(body_with(R"("truncation":"auto")"));
  EXPECT_TRUE(std::get<Conversation>(exchange.exchange.request.input).drops_oldest);
  EXPECT_THAT(exchange.exchange.encoder->body(), HasSubstr(R"("truncation":"auto")"));
}

TEST_F(Responses, ReadsToolsAndTheirChoice) {
  const std::string tools =
      R"("tools":[{"type":"function","name":"f","parameters":{"type":"object"}},)"
      R"({"type":"function","name":"g","description":"d","parameters":{},"strict":false}],)";
  const Conversation one = conversation_of(body_with(
      tools + R"("tool_choice":{"type":"function","name":"g"},"parallel_tool_calls":false)"));
  EXPECT_TRUE(one.tools[0].is_strict);
  EXPECT_FALSE(one.tools[1].is_strict);
  EXPECT_EQ(one.tool_choice.rule, ToolRule::required);
  EXPECT_THAT(one.tool_choice.names, ElementsAre("g"));
  EXPECT_FALSE(one.allows_parallel_calls);
  const Conversation some = conversation_of(body_with(
      tools +
      R"("tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"f"}]})"));
  EXPECT_EQ(some.tool_choice.rule, ToolRule::automatic);
  EXPECT_THAT(some.tool_choice.names, ElementsAre("f"));
}

TEST_F(Responses, ReadsCustomToolsAsFunctionsOfTheirInput) {
  const std::string tools =
      R"("tools":[{"type":"custom","name":"say","description":"d"},)"
      R"({"type":"custom","name":"pick","format":{"type":"grammar","syntax":"regex","definition":"^[ab]$"}}])";
  const ResponseExchange exchange =
      accept(body_with(concat(tools, R"(,"tool_choice":{"type":"custom","name":"pick"})")));
  const auto& read = std::get<Conversation>(exchange.exchange.request.input);
  ASSERT_EQ(read.tools.size(), 2U);
  EXPECT_TRUE(read.tools[0].is_strict);
  EXPECT_EQ(read.tools[0].description, "d");
  EXPECT_THAT(read.tools[0].parameters, HasSubstr(R"("required":["input"])"));
  EXPECT_THAT(read.tools[1].parameters, HasSubstr(R"("pattern":"^(?:[ab])$")"));
  EXPECT_THAT(read.tool_choice.names, ElementsAre("pick"));
  exchange.exchange.encoder->collect({.what = Started{}});
  EXPECT_THAT(
      store_->get("me", "resp_u1")->body,
      HasSubstr(
          R"("tools":[{"type":"custom","name":"say","description":"d","format":{"type":"text"}},)"
          R"({"type":"custom","name":"pick","description":null,"format":{"type":"grammar","syntax":"regex","definition":"^[ab]$"}}])"));
}

TEST_F(Responses, CustomCallsComeBack) {
  const std::vector<Message> turns =
      conversation_of(
          R"({"input":[{"role":"user","content":"hi"},)"
          R"({"type":"custom_tool_call","id":"ctc_1","call_id":"c1","name":"say","input":"a \"b\"\n","status":"completed"},)"
          R"({"type":"custom_tool_call_output","call_id":"c1","output":"r"}]})")
          .messages;
  ASSERT_EQ(turns.size(), 3U);
  ASSERT_EQ(turns[1].tool_calls.size(), 1U);
  EXPECT_EQ(turns[1].tool_calls[0].arguments, R"({"input": "a \"b\"\n"})");
  EXPECT_EQ(turns[2].name, "say");
  EXPECT_EQ(turns[2].content, "r");
}

TEST_F(Responses, PackedReasoningComesBack) {
  ResponseExchange first =
      accept(body_with(R"("include":["reasoning.encrypted_content"],"store":false)"), "one");
  answer(first, {{.what = Started{}},
                 {.what = ReasoningDelta{"hm?"}},
                 {.what = ContentDelta{"a"}},
                 {.what = ChoiceEnded{}},
                 {.what = Ended{}}});
  const std::string packed = R"("encrypted_content":"zllm1.aG0_")";
  EXPECT_THAT(first.exchange.encoder->body(), HasSubstr(packed));
  const std::vector<Message> turns =
      conversation_of(concat(R"({"input":[{"type":"reasoning","summary":[],)", packed,
                             R"(},{"role":"assistant","content":"a"}]})"))
          .messages;
  ASSERT_EQ(turns.size(), 1U);
  EXPECT_EQ(turns[0].reasoning, "hm?");
  EXPECT_EQ(turns[0].content, "a");
}

TEST_F(Responses, GoesOnWithoutNewInput) {
  ResponseExchange first = accept(body_with(""), "one");
  answer(first, text_answer("a"));
  EXPECT_EQ(conversation_of(R"({"previous_response_id":"resp_one"})", "two").messages.size(), 2U);
}

TEST_F(Responses, ReadsOptions) {
  const Request request =
      accept(body_with(R"("max_output_tokens":5,"temperature":0,"seed":3,"top_k":4,"stop":"x",)"
                       R"("top_logprobs":2,"include":["message.output_text.logprobs"],)"
                       R"("reasoning":{"effort":"low","summary":"auto"},)"
                       R"("text":{"format":{"type":"json_schema","name":"n","strict":true,)"
                       R"("schema":{"type":"object"}},"verbosity":"medium"})"))
          .exchange.request;
  EXPECT_EQ(request.max_tokens, 5U);
  EXPECT_EQ(request.sampling.temperature, 0.0);
  EXPECT_EQ(request.sampling.seed, 3U);
  EXPECT_EQ(request.sampling.top_k, 4);
  EXPECT_EQ(request.top_log_probabilities, 2U);
  EXPECT_EQ(request.reasoning.effort, "low");
  EXPECT_EQ(request.format.kind, FormatKind::json_schema);
  EXPECT_THAT(request.stop, ElementsAre("x"));
  EXPECT_EQ(
      accept(body_with(R"("reasoning":{"effort":"none"})")).exchange.request.reasoning.is_enabled,
      false);
}

TEST_F(Responses, PreviousResponseGoesOnWithoutItsInstructions) {
  const std::string tools =
      R"("tools":[{"type":"function","name":"f","parameters":{"type":"object"}}])";
  ResponseExchange first = accept(body_with(concat(R"("instructions":"first",)", tools)), "one");
  answer(first, {{.what = Started{}},
                 {.what = ReasoningDelta{"hm"}},
                 {.what = CallStarted{.id = "c1", .name = "f"}},
                 {.what = CallDelta{.arguments = "{}"}},
                 {.what = CallFinished{}},
                 {.what = ChoiceEnded{.reason = StopReason::calls}},
                 {.what = Ended{}}});
  const Conversation second = conversation_of(
      concat(R"({"previous_response_id":"resp_one","instructions":"second","input":[)"
             R"({"type":"function_call_output","call_id":"c1","output":"r"}],)",
             tools, "}"),
      "two");
  const std::vector<Message>& turns = second.messages;
  ASSERT_EQ(turns.size(), 4U);
  EXPECT_EQ(turns[0].content, "second");
  EXPECT_EQ(turns[1].content, "hi");
  EXPECT_EQ(turns[2].reasoning, "hm");
  EXPECT_EQ(turns[2].content, std::nullopt);
  ASSERT_EQ(turns[2].tool_calls.size(), 1U);
  EXPECT_EQ(turns[3].content, "r");
  EXPECT_EQ(turns[3].name, "f");
}

TEST_F(Responses, PreviousResponseIsOfTheSameCaller) {
  ResponseExchange first = accept(body_with(""), "one");
  answer(first, text_answer("a"));
  EXPECT_TRUE(store_->get("me", "resp_one").has_value());
  const Failure failure = refuse(body_with(R"("previous_response_id":"resp_one")"), "other");
  EXPECT_EQ(failure.kind, FailureKind::invalid);
  EXPECT_EQ(failure.field, "previous_response_id");
  EXPECT_EQ(failure.code, "previous_response_not_found");
}

TEST_F(Responses, ItemsCanBeReferredTo) {
  ResponseExchange first = accept(body_with(""), "one");
  answer(first, text_answer("a"));
  const Conversation second = conversation_of(
      R"({"input":[{"type":"item_reference","id":"msg_one_in0"},)"
      R"({"type":"item_reference","id":"msg_one_0"},{"role":"user","content":"more"}]})",
      "two");
  ASSERT_EQ(second.messages.size(), 3U);
  EXPECT_EQ(second.messages[0].content, "hi");
  EXPECT_EQ(second.messages[1].content, "a");
  EXPECT_EQ(second.messages[1].role, Role::assistant);
}

TEST_F(Responses, StoreFalseLeavesNothing) {
  ResponseExchange first = accept(body_with(R"("store":false)"), "one");
  EXPECT_FALSE(first.is_stored);
  answer(first, text_answer("a"));
  EXPECT_EQ(store_->count(), 0U);
}

TEST_F(Responses, BackgroundIsQueuedThenRuns) {
  ResponseExchange first = accept(body_with(R"("background":true)"), "one");
  EXPECT_TRUE(first.is_background);
  EXPECT_THAT(first.queued.body, HasSubstr(R"("status":"queued")"));
  store_->put("me", first.id, first.queued);
  EXPECT_EQ(refuse(body_with(R"("previous_response_id":"resp_one")")).field,
            "previous_response_id");
  first.exchange.encoder->collect({.what = Started{}});
  EXPECT_THAT(store_->get("me", "resp_one")->body, HasSubstr(R"("status":"in_progress")"));
  first.exchange.encoder->collect({.what = ChoiceEnded{.reason = StopReason::cancelled}});
  first.exchange.encoder->collect({.what = Ended{}});
  EXPECT_THAT(store_->get("me", "resp_one")->body, HasSubstr(R"("status":"cancelled")"));
  EXPECT_TRUE(store_->get("me", "resp_one")->is_final);
}

TEST_F(Responses, ADeletedResponseStaysDeleted) {
  ResponseExchange first = accept(body_with(""), "one");
  first.exchange.encoder->collect({.what = Started{}});
  EXPECT_TRUE(store_->erase("me", "resp_one"));
  answer(first, text_answer("a"));
  EXPECT_EQ(store_->count(), 0U);
}

}  // namespace
}  // namespace zllm::dialect::responses
