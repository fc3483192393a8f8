#include <zllm/embedded/engine.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include <zllm/base/text.h>
#include <zllm/embedded/scripted_model_test-inl.h>

namespace zllm {
namespace {

using testing::Heard;
using testing::Told;

std::unique_ptr<Engine> engine_of(std::string_view script,
                                  std::string_view chat_template = testing::kTemplate,
                                  std::string family = {}) {
  auto engine = testing::scripted_engine(script, chat_template, std::move(family));
  EXPECT_TRUE(engine.ok()) << engine.error().message;
  return *std::move(engine);
}

// Answers "raw".
std::unique_ptr<Engine> engine_without_template(const text::Tokenizer& tokenizer) {
  auto engine =
      Engine::create({.model = std::make_unique<testing::ScriptedModel>(tokenizer, "raw"),
                      .text = {.tokenizer = tokenizer, .templates = {}, .special_tokens = {}},
                      .end_tokens = {*tokenizer.id_of(testing::kEnd)}},
                     {.model = ""});
  EXPECT_TRUE(engine.ok()) << engine.error().message;
  return *std::move(engine);
}

Request question(std::string text = "Hi") {
  Request request{.input =
                      Conversation{.messages = {{.role = Role::user, .content = std::move(text)}}}};
  request.sampling.temperature = 0;
  return request;
}

Conversation& conversation(Request& request) { return std::get<Conversation>(request.input); }

Heard ask(Engine& engine, Request request) {
  auto answer = engine.submit(std::move(request));
  EXPECT_TRUE(answer.ok()) << (answer.ok() ? "" : answer.error().message);
  return answer.ok() ? testing::hear_all(**answer) : Heard{};
}

Failure refusal(Engine& engine, Request request) {
  auto answer = engine.submit(std::move(request));
  EXPECT_FALSE(answer.ok());
  return answer.ok() ? Failure() : answer.error();
}

TEST(Engine, AnswersAConversation) {
  const auto engine = engine_of("Good morning!");
  const Heard heard = ask(*engine, question());
  EXPECT_EQ(heard.choices[0].content, "Good morning!");
  EXPECT_EQ(heard.choices[0].end->reason, StopReason::end);
  EXPECT_EQ(heard.started->prompt_tokens, *engine->count_prompt_tokens(question()));
  EXPECT_EQ(heard.ended->usage.completion_tokens,
            engine->tokenize("Good morning!", false, false)->size());
  EXPECT_EQ(*engine->render(question()), "<|im_start|>user: Hi<|im_end|><|im_start|>");
}

TEST(Engine, ASecondAnswerReadsTheCachedPrefixAndIsTheSame) {
  const auto engine = engine_of("The same.");
  const Heard first = ask(*engine, question("Tell me something that is long enough."));
  const Heard second = ask(*engine, question("Tell me something that is long enough."));
  EXPECT_EQ(first.choices[0].content, second.choices[0].content);
  EXPECT_EQ(first.started->cached_tokens, 0u);
  EXPECT_GT(second.started->cached_tokens, 0u);
  EXPECT_EQ(second.ended->usage.cached_tokens, second.started->cached_tokens);
}

TEST(Engine, SeveralChoicesAndScores) {
  const auto engine = engine_of("Two of them");
  Request request = question();
  request.choices = 2;
  request.top_log_probabilities = 3;
  const Heard heard = ask(*engine, std::move(request));
  for (const Told& told : {heard.choices[0], heard.choices[1]}) {
    EXPECT_EQ(told.content, "Two of them");
    EXPECT_EQ(told.scored.size(), told.end->tokens);
    EXPECT_EQ(told.scored[0].top.size(), 3u);
    EXPECT_GT(told.scored[0].log_probability, -1);
  }
  EXPECT_EQ(heard.ended->usage.completion_tokens, 2 * heard.choices[0].end->tokens);
}

TEST(Engine, AStopStringEndsTheAnswerInTheLoopToo) {
  const auto engine = engine_of("one two three four five six seven eight nine ten");
  Request request = question();
  request.stop = {"three"};
  const Heard heard = ask(*engine, std::move(request));
  EXPECT_EQ(heard.choices[0].content, "one two ");
  EXPECT_EQ(heard.choices[0].end->stop_string, "three");
  EXPECT_EQ(ask(*engine, question()).choices[0].end->reason, StopReason::end);
}

TEST(Engine, LengthEndsAndMaxTokensAreCounted) {
  const auto engine = engine_of("one two three four five");
  Request request = question();
  request.max_tokens = 3;
  const Heard heard = ask(*engine, std::move(request));
  EXPECT_EQ(heard.choices[0].end->reason, StopReason::length);
  EXPECT_FALSE(heard.choices[0].end->is_context_full);
  EXPECT_EQ(heard.ended->usage.completion_tokens, 3u);
}

TEST(Engine, APromptBeyondTheContextIsRefusedWithBothCounts) {
  const auto engine = engine_of("x");
  constexpr std::size_t kContext = testing::ScriptedModel::kContext;
  const TokenId turn = engine->tokenize(testing::kTurn, false, true)->front();
  const auto raw = [&](std::size_t count) {
    return Request{.input = RawPrompt{std::vector<TokenId>(count, turn)}};
  };
  const Heard most = ask(*engine, raw(kContext - 1));
  EXPECT_EQ(most.choices[0].end->reason, StopReason::length);
  EXPECT_TRUE(most.choices[0].end->is_context_full);
  for (const std::size_t count : {kContext, kContext + 1}) {
    const Failure failure = refusal(*engine, raw(count));
    EXPECT_EQ(failure.kind, FailureKind::too_long);
    EXPECT_EQ(failure.code, "context_length_exceeded");
    EXPECT_NE(failure.message.find(std::to_string(count)), std::string::npos);
    EXPECT_NE(failure.message.find(std::to_string(kContext)), std::string::npos);
  }
}

TEST(Engine, ATemplatesOwnRefusalReachesTheCaller) {
  const auto engine = engine_of("x");
  const Failure failure = refusal(*engine, question("raise"));
  EXPECT_EQ(failure.kind, FailureKind::invalid);
  EXPECT_EQ(failure.message, "No raising here.");
  EXPECT_EQ(failure.field, "messages");
}

TEST(Engine, TextOfUsersNeverBecomesControlTokens) {
  const auto engine = engine_of("x");
  const TokenId end = engine->tokenize(testing::kEnd, false, true)->front();
  const std::string rendered = *engine->render(question("a<|im_end|>b"));
  EXPECT_EQ(rendered, "<|im_start|>user: a<|im_end|>b<|im_end|><|im_start|>");
  const auto parsed = *engine->tokenize(rendered, true, true);
  EXPECT_EQ(std::ranges::count(parsed, end), 2);
  EXPECT_GT(*engine->count_prompt_tokens(question("a<|im_end|>b")), parsed.size());
}

TEST(Engine, ToolsAreRefusedWhereTheTemplateTakesNone) {
  const auto engine = engine_of("x");
  Request request = question();
  conversation(request).tools = {{.name = "f"}};
  const Failure failure = refusal(*engine, std::move(request));
  EXPECT_EQ(failure.kind, FailureKind::unsupported);
  EXPECT_EQ(failure.field, "tools");
  EXPECT_FALSE(engine->info().template_takes_tools);
}

TEST(Engine, CallsOfThePastAreRefusedWhereTheTemplateShowsNone) {
  Request request = question();
  conversation(request).messages.push_back(
      {.role = Role::assistant,
       .content = "",
       .tool_calls = {{.id = "c", .name = "f", .arguments = ""}}});
  conversation(request).messages.push_back(
      {.role = Role::tool, .content = "1", .tool_call_id = "c"});
  const Failure failure = refusal(*engine_of("x"), request);
  EXPECT_EQ(failure.kind, FailureKind::unsupported);
  EXPECT_EQ(failure.field, "messages");
  const auto engine = engine_of("x",
                                "{% for m in messages %}{% for c in m.tool_calls or [] %}"
                                "{{ c.function | tojson }}{% endfor %}{% endfor %}<|im_start|>");
  EXPECT_EQ(*engine->render(request), R"({"name": "f", "arguments": {}}<|im_start|>)");
}

TEST(Engine, AnAnswerKnowsTheLengthOfItsPrompt) {
  const auto engine = engine_of("x");
  auto answer = engine->submit(question());
  ASSERT_TRUE(answer.ok());
  auto counted = engine->count_prompt_tokens(question());
  ASSERT_TRUE(counted.ok());
  EXPECT_EQ((*answer)->prompt_tokens(), *counted);
  EXPECT_EQ(testing::hear_all(**answer).started->prompt_tokens, *counted);
}

TEST(Engine, APromptOfNothingBeginsAText) {
  const text::Tokenizer tokenizer = testing::small_tokenizer().with_begin(
      testing::small_tokenizer().id_of(testing::kTurn), false);
  const auto engine = engine_without_template(tokenizer);
  Request raw{.input = RawPrompt{""}};
  raw.sampling.temperature = 0;
  raw.echoes_prompt = true;
  const Heard heard = ask(*engine, std::move(raw));
  EXPECT_EQ(heard.choices[0].content, "raw");
  EXPECT_EQ(heard.started->prompt_tokens, 1u);
}

TEST(Engine, WithoutATemplateOnlyRawPromptsAreAnswered) {
  const text::Tokenizer tokenizer = testing::small_tokenizer();
  const auto engine = engine_without_template(tokenizer);
  EXPECT_EQ(refusal(*engine, question()).kind, FailureKind::unsupported);
  Request raw{.input = RawPrompt{"a<|im_start|>"}};
  raw.sampling.temperature = 0;
  EXPECT_EQ(ask(*engine, std::move(raw)).choices[0].content, "raw");
}

TEST(Engine, GoesOnWithTheAssistantsLastMessage) {
  const auto engine = engine_of("x");
  Request request = question();
  conversation(request).messages.push_back({.role = Role::assistant, .content = "So far "});
  conversation(request).continues_last_message = true;
  EXPECT_EQ(*engine->render(request),
            "<|im_start|>user: Hi<|im_end|><|im_start|>assistant: So far ");
}

TEST(Engine, AnAnswerNeedNotBeOpened) {
  const auto engine = engine_of("x");
  Request request = question();
  conversation(request).opens_answer = false;
  EXPECT_EQ(*engine->render(request), "<|im_start|>user: Hi<|im_end|>");
}

// A rule, so many turns and a question, of which the toy's context holds some.
Request long_request(int turns, int first = 0) {
  Request request = question();
  std::vector<Message>& messages = conversation(request).messages;
  messages = {{.role = Role::system, .content = "rule"}};
  for (int i = first; i < turns; ++i) {
    messages.push_back({.role = Role::user, .content = concat("question ", i, ".")});
    messages.push_back({.role = Role::assistant, .content = concat("answer ", i, ".")});
  }
  messages.push_back({.role = Role::user, .content = "last"});
  conversation(request).drops_oldest = true;
  return request;
}

TEST(Engine, TheOldestTurnsAreDroppedUntilThePromptFits) {
  constexpr int kTurns = 60;
  constexpr std::uint64_t kContext = testing::ScriptedModel::kContext;
  const auto engine = engine_of("Fine.");
  const auto without = [&](int first) {
    Request request = long_request(kTurns, first);
    conversation(request).drops_oldest = false;
    return request;
  };
  const auto whole_length = [&](int first) { return *engine->count_prompt_tokens(without(first)); };
  using Limit = std::optional<std::uint64_t>;
  for (const Limit limit : {Limit(1), Limit(100), Limit()}) {
    const std::uint64_t room = limit.value_or(kContext / 8);
    Request request = long_request(kTurns);
    request.max_tokens = limit;
    const std::string text = *engine->render(request);
    int first = 0;
    while (first < kTurns && text.find(concat("question ", first, ".")) == std::string::npos) {
      ++first;
    }
    ASSERT_GT(first, 0);
    ASSERT_LT(first, kTurns);
    EXPECT_EQ(text, *engine->render(without(first)));
    EXPECT_LE(whole_length(first) + room, kContext);
    EXPECT_GT(whole_length(first - 1) + room, kContext);
    EXPECT_EQ(ask(*engine, request).started->prompt_tokens, whole_length(first));
  }
}

TEST(Engine, RoomThatIsNotToBeHadDropsNoMoreThanItMust) {
  const auto engine = engine_of("Fine.");
  Request request = long_request(60);
  request.max_tokens = 1;
  const std::string text = *engine->render(request);
  request.max_tokens = 100000;
  EXPECT_EQ(*engine->render(request), text);
  Request fits = long_request(2);
  fits.max_tokens = 100000;
  EXPECT_NE(engine->render(fits)->find("question 0"), std::string::npos);
}

TEST(Engine, WhatCannotBeDroppedIsStillTooLong) {
  const auto engine = engine_of("Fine.");
  Request request = long_request(60);
  conversation(request).drops_oldest = false;
  EXPECT_EQ(refusal(*engine, request).kind, FailureKind::too_long);
  for (const int turns : {0, 3}) {
    Request long_end = long_request(turns);
    std::string& last = *conversation(long_end).messages.back().content;
    for (int i = 0; i < 300; ++i) {
      last += " word";
    }
    EXPECT_EQ(refusal(*engine, long_end).kind, FailureKind::too_long);
    EXPECT_GT(*engine->count_prompt_tokens(long_end), 512u);
  }
}

TEST(Engine, ReasoningThatIsNotToldApartIsNotCounted) {
  const auto engine =
      engine_of("<think>a</think>b", "{{ messages[0].content }}<|im_start|><think>", "hermes");
  Request request = question();
  for (const bool is_separate : {true, false}) {
    request.reasoning.is_separate = is_separate;
    const Heard heard = ask(*engine, request);
    EXPECT_EQ(heard.ended->usage.reasoning_tokens > 0, is_separate);
  }
}

std::string content_bytes(const Told& told) {
  std::string bytes;
  for (const ScoredToken& token : told.scored) {
    bytes += token.is_content ? token.bytes : "";
  }
  return bytes;
}

TEST(Engine, ScoresOfContentAreOfItsTextAlone) {
  constexpr std::string_view kOpen = "{{ messages[0].content }}<|im_start|><think>";
  struct Case {
    std::string_view script, content, bytes;
  };
  for (const Case& one : std::vector<Case>{
           {"a, b</think>\n\nIt is.", "It is.", "It is."},
           {"a</think><b", "<b", "><b"},  // of a token with both
           {"a</think>think>", "think>", "think>"},
           {"never ends", "never ends", "never ends"},
       }) {
    const auto engine = engine_of(concat("<think>", one.script), kOpen, "hermes");
    Request request = question();
    request.top_log_probabilities = 0;
    const Told told = ask(*engine, request).choices[0];
    EXPECT_EQ(told.content, one.content);
    EXPECT_EQ(content_bytes(told), one.bytes) << one.script;
    EXPECT_GE(told.scored.size(), told.end->tokens);
    request.reasoning.is_separate = false;
    EXPECT_EQ(content_bytes(ask(*engine, request).choices[0]), one.script);
  }
}

TEST(Engine, ScoresOfCallsAndOfStopStringsAreOfNoContent) {
  const auto engine =
      engine_of("Well, <b> \n<tool_call>\n{\"name\": \"add\", \"arguments\": {}}\n</tool_call>",
                testing::kToolTemplate, "hermes");
  Request request = question();
  request.top_log_probabilities = 0;
  conversation(request).tools = {{.name = "add"}};
  const Told told = ask(*engine, request).choices[0];
  ASSERT_EQ(told.calls.size(), 1u);
  EXPECT_EQ(content_bytes(told), told.content);
  EXPECT_EQ(told.scored.size(), told.end->tokens);
  request.stop = {"<b>"};
  const Told stopped = ask(*engine, request).choices[0];
  EXPECT_EQ(stopped.content, "Well, ");
  EXPECT_TRUE(content_bytes(stopped).starts_with("Well,"));
  EXPECT_EQ(content_bytes(stopped).find('b'), std::string::npos);
}

TEST(Engine, CallsOfToolsAreTold) {
  const std::string call =
      "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n</tool_call>";
  const auto engine = engine_of(call, testing::kToolTemplate, "hermes");
  for (const ToolRule rule : {ToolRule::automatic, ToolRule::required}) {
    Request request = question();
    conversation(request).tools = {
        {.name = "add",
         .parameters = R"({"type": "object", "properties": {"a": {"type": "integer"}}})"}};
    conversation(request).tool_choice.rule = rule;
    const Heard heard = ask(*engine, std::move(request));
    ASSERT_EQ(heard.choices[0].calls.size(), 1u);
    EXPECT_EQ(heard.choices[0].calls[0].first, "add");
    EXPECT_EQ(Json::parse(heard.choices[0].calls[0].second, "")->dump(), R"({"a":1})");
    EXPECT_EQ(heard.choices[0].end->reason, StopReason::calls);
  }
}

TEST(Engine, RuleNoneLeavesCallsAsText) {
  const std::string call =
      "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n</tool_call>";
  const auto engine = engine_of(call, testing::kToolTemplate, "hermes");
  Request request = question();
  conversation(request).tools = {{.name = "add"}};
  conversation(request).tool_choice.rule = ToolRule::none;
  const Heard heard = ask(*engine, std::move(request));
  EXPECT_TRUE(heard.choices[0].calls.empty());
  EXPECT_EQ(heard.choices[0].content, call);
}

TEST(Engine, AFormatHoldsAgainstTheModelsWill) {
  const auto engine = engine_of("I would rather chat.");
  Request request = question();
  request.format = {.kind = FormatKind::json_schema, .source = R"({"enum": [17]})"};
  EXPECT_EQ(ask(*engine, std::move(request)).choices[0].content, "17");
  Request broken = question();
  broken.format = {.kind = FormatKind::regex, .source = "(?<=a)*"};
  EXPECT_EQ(refusal(*engine, broken).field, "response_format");
  broken.format.field = "guided_regex";
  EXPECT_EQ(refusal(*engine, std::move(broken)).field, "guided_regex");
}

TEST(Engine, FencesMayBeMadeByWhoNeedsThemFirst) {
  EngineOptions options;
  options.chat_template = testing::kTemplate;
  options.prepares_fences = false;
  const auto engine = Engine::create(testing::scripted_parts("I would rather chat."), options);
  ASSERT_TRUE(engine.ok());
  EXPECT_EQ(ask(**engine, question()).choices[0].content, "I would rather chat.");
  for (const auto *wanted : {"17", "18"}) {
    Request request = question();
    request.format = {.kind = FormatKind::regex, .source = wanted};
    EXPECT_EQ(ask(**engine, std::move(request)).choices[0].content, wanted);
  }
}

TEST(Engine, WhatARequestLeavesOpenIsTheModelsChoiceThenTheCallers) {
  const auto sampling_of = [](std::string_view config) {
    EngineParts parts = testing::scripted_parts("x");
    parts.generation_config = *Json::parse(config, "");
    const auto engine = Engine::create(std::move(parts), {.model = {}, .usual_temperature = 0.25});
    return std::pair((*engine)->info().sampling, (*engine)->info().warnings.size());
  };
  EXPECT_EQ(sampling_of("{}").first.temperature, 0.25);
  const auto [own, no_warnings] = sampling_of(R"({"temperature": 0.5, "top_p": 0.75})");
  EXPECT_EQ(std::pair(own.temperature, own.top_p), std::pair(0.5, 0.75));
  EXPECT_EQ(no_warnings, 0u);
  const auto [without, warnings] = sampling_of(R"({"temperature": 0.5, "top_p": 7})");
  EXPECT_EQ(std::pair(without.temperature, without.top_p), std::pair(0.25, 1.0));
  EXPECT_EQ(warnings, 1u);
}

TEST(Engine, CancelEndsAnAnswerAndNoOther) {
  const auto engine = engine_of("word ");
  Request endless = question();
  endless.ignores_end = true;
  auto running = engine->submit(std::move(endless));
  ASSERT_TRUE(running.ok());
  ASSERT_TRUE((*running)->next());
  (*running)->cancel();
  const Heard heard = testing::hear_all(**running);
  EXPECT_EQ(heard.choices[0].end->reason, StopReason::cancelled);
  EXPECT_FALSE(heard.ended->failure);
  EXPECT_EQ(ask(*engine, question()).choices[0].content, "word ");
}

TEST(Engine, AnAnswerMayOutliveItsEngine) {
  auto engine = engine_of("word ");
  Request endless = question();
  endless.ignores_end = true;
  auto running = engine->submit(std::move(endless));
  ASSERT_TRUE(running.ok());
  engine.reset();
  const Heard heard = testing::hear_all(**running);
  ASSERT_TRUE(heard.ended);
}

TEST(Engine, UnknownFamiliesAreRefusedWithTheKnownOnes) {
  const auto engine = testing::scripted_engine("x", testing::kTemplate, "no-such-family");
  ASSERT_FALSE(engine.ok());
  EXPECT_NE(engine.error().message.find("hermes"), std::string::npos);
}

}  // namespace
}  // namespace zllm
