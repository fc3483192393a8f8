#include <zllm/dialect/chat/chat_encoder.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <zllm/base/json.h>
#include <zllm/base/text.h>

namespace zllm::dialect::chat {
namespace {

ChatAnswer answer_of(std::uint32_t choices, bool has_log_probabilities, OutputOptions output) {
  return {.facts = {.unique = "U", .created = 7, .model = "m"},
          .choices = choices,
          .has_log_probabilities = has_log_probabilities,
          .output = output};
}

Event event(std::uint32_t choice, decltype(Event::what) what,
            std::vector<ScoredToken> scored = {}) {
  return {.choice = choice, .scored = std::move(scored), .what = std::move(what)};
}

Ended ended() {
  return {.usage = {.prompt_tokens = 9,
                    .cached_tokens = 4,
                    .completion_tokens = 5,
                    .reasoning_tokens = 2},
          .timings = {},
          .failure = {}};
}

std::vector<std::string> stream_all(ChatEncoder& encoder, const std::vector<Event>& events) {
  std::vector<Item> items;
  for (const Event& each : events) {
    encoder.stream(each, items);
  }
  std::vector<std::string> texts;
  for (const Item& item : items) {
    EXPECT_TRUE(item.event.empty());
    texts.push_back(item.data);
  }
  return texts;
}

std::string collect_all(ChatEncoder& encoder, const std::vector<Event>& events) {
  for (const Event& each : events) {
    encoder.collect(each);
  }
  return encoder.body();
}

const std::string kHead =
    R"({"id":"chatcmpl-U","object":"chat.completion.chunk","created":7,"model":"m","choices":)";

std::vector<Event> text_events() {
  return {event(0, Started{9, 4}), event(0, ContentDelta{"a\n"}), event(0, ContentDelta{"b"}),
          event(0, ChoiceEnded{.reason = StopReason::length}), event(0, ended())};
}

TEST(ChatEncoder, StreamsText) {
  ChatEncoder encoder(answer_of(1, false, {.is_streaming = true}));
  const std::vector<std::string> expected = {
      kHead +
          R"([{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]})",
      kHead + R"([{"index":0,"delta":{"content":"a\n"},"logprobs":null,"finish_reason":null}]})",
      kHead + R"([{"index":0,"delta":{"content":"b"},"logprobs":null,"finish_reason":null}]})",
      kHead + R"([{"index":0,"delta":{},"logprobs":null,"finish_reason":"length"}]})", "[DONE]"};
  EXPECT_EQ(stream_all(encoder, text_events()), expected);
}

TEST(ChatEncoder, StreamsUsageOnceAsked) {
  ChatEncoder encoder(answer_of(1, false, {.is_streaming = true, .includes_usage = true}));
  const auto items = stream_all(encoder, text_events());
  ASSERT_EQ(items.size(), 6U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(items[i].ends_with(R"(],"usage":null})")) << items[i];
  }
  EXPECT_EQ(items[4],
            kHead + R"([],"usage":{"prompt_tokens":9,"completion_tokens":5,"total_tokens":14,)"
                    R"("prompt_tokens_details":{"cached_tokens":4},)"
                    R"("completion_tokens_details":{"reasoning_tokens":2}}})");
  EXPECT_EQ(items[5], "[DONE]");
}

TEST(ChatEncoder, WritesText) {
  ChatEncoder encoder(answer_of(1, false, {}));
  EXPECT_EQ(
      collect_all(encoder, text_events()),
      R"({"id":"chatcmpl-U","object":"chat.completion","created":7,"model":"m","choices":[)"
      R"({"index":0,"message":{"role":"assistant","content":"a\nb","refusal":null},)"
      R"("logprobs":null,"finish_reason":"length"}],"usage":{"prompt_tokens":9,)"
      R"("completion_tokens":5,"total_tokens":14,"prompt_tokens_details":{"cached_tokens":4},)"
      R"("completion_tokens_details":{"reasoning_tokens":2}}})");
}

std::vector<Event> call_events() {
  return {event(0, Started{9, 4}),
          event(0, ReasoningDelta{"hm"}),
          event(0, CallStarted{0, "call_1", "f"}),
          event(0, CallDelta{0, "{\"x\":"}),
          event(0, CallDelta{0, "1}"}),
          event(0, CallFinished{0}),
          event(0, CallStarted{1, "call_2", "g"}),
          event(0, CallDelta{1, "{}"}),
          event(0, CallFinished{1}),
          event(0, ChoiceEnded{.reason = StopReason::calls}),
          event(0, ended())};
}

TEST(ChatEncoder, StreamsCallsNameFirst) {
  ChatEncoder encoder(answer_of(1, false, {.is_streaming = true}));
  const auto items = stream_all(encoder, call_events());
  ASSERT_EQ(items.size(), 9U);
  const std::string tail = R"(,"logprobs":null,"finish_reason":null}]})";
  EXPECT_EQ(items[1], kHead + R"([{"index":0,"delta":{"reasoning_content":"hm"})" + tail);
  EXPECT_EQ(items[2], kHead +
                          R"([{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1",)"
                          R"("type":"function","function":{"name":"f","arguments":""}}]})" +
                          tail);
  EXPECT_EQ(items[3], kHead +
                          R"([{"index":0,"delta":{"tool_calls":[{"index":0,)"
                          R"("function":{"arguments":"{\"x\":"}}]})" +
                          tail);
  EXPECT_EQ(items[7],
            kHead + R"([{"index":0,"delta":{},"logprobs":null,"finish_reason":"tool_calls"}]})");
}

TEST(ChatEncoder, WritesCallsWithoutContent) {
  ChatEncoder encoder(answer_of(1, false, {}));
  const std::string body = collect_all(encoder, call_events());
  EXPECT_NE(
      body.find(
          R"("message":{"role":"assistant","content":null,"refusal":null,)"
          R"("reasoning_content":"hm","tool_calls":[{"id":"call_1","type":"function",)"
          R"("function":{"name":"f","arguments":"{\"x\":1}"}},{"id":"call_2","type":"function",)"
          R"("function":{"name":"g","arguments":"{}"}}]},"logprobs":null,)"
          R"("finish_reason":"tool_calls")"),
      std::string::npos)
      << body;
}

std::vector<Event> scored_events() {
  const double never = -std::numeric_limits<double>::infinity();
  return {event(1, Started{}),
          event(1, ContentDelta{"a"},
                {{.token = 5, .bytes = "<", .log_probability = -1},
                 {.token = 1,
                  .bytes = "a",
                  .log_probability = -0.5,
                  .top = {{.token = 1, .bytes = "a", .log_probability = -0.5}},
                  .is_content = true}}),
          event(0, ReasoningDelta{"r"}, {{.token = 2, .bytes = "r", .log_probability = 0}}),
          event(1, ContentDelta{"\xef\xbf\xbd"},
                {{.token = 3, .bytes = "\xc3", .log_probability = never, .is_content = true}}),
          event(1, CallFinished{}, {{.token = 6, .bytes = ">", .log_probability = -1}}),
          event(0, ChoiceEnded{}, {{.token = 4, .bytes = "", .log_probability = -1}}),
          event(1, ChoiceEnded{}),
          event(0, ended())};
}

TEST(ChatEncoder, LogProbabilitiesAreTheSameStreamed) {
  ChatEncoder whole(answer_of(2, true, {}));
  const std::string body = collect_all(whole, scored_events());
  EXPECT_NE(
      body.find(R"("logprobs":{"content":[{"token":"a","logprob":-0.5,"bytes":[97],)"
                R"("top_logprobs":[{"token":"a","logprob":-0.5,"bytes":[97]}]},)"
                "{\"token\":\"\xef\xbf\xbd\""
                R"(,"logprob":-9999.0,"bytes":[195],"top_logprobs":[]},)"
                R"({"token":">","logprob":-1.0,"bytes":[62],"top_logprobs":[]}],"refusal":null})"),
      std::string::npos)
      << body;

  ChatEncoder pieces(answer_of(2, true, {.is_streaming = true}));
  std::map<std::uint64_t, std::string> streamed;
  for (const std::string& item : stream_all(pieces, scored_events())) {
    const auto json = Json::parse(item, "item");
    if (!json.ok()) {
      EXPECT_EQ(item, "[DONE]");
      continue;
    }
    const Json& choice = json->find("choices")->as_array()->front();
    std::uint64_t index = 0;
    ASSERT_TRUE(choice.find("index")->as_unsigned(index));
    if (const Json *scores = choice.find("logprobs"); !scores->is_null()) {
      const std::string text = scores->find("content")->dump();
      streamed[index] += streamed[index].empty() || text == "[]" ? "" : ",";
      streamed[index] += text.substr(1, text.size() - 2);
    }
  }
  const Json parsed = Json::parse(body, "body").value();
  for (const auto& [index, text] : streamed) {
    const Json& choice = (*parsed.find("choices")->as_array())[index];
    EXPECT_EQ(concat("[", text, "]"), choice.find("logprobs")->find("content")->dump());
  }
  EXPECT_EQ(streamed.size(), 2U);
}

TEST(ChatEncoder, EveryChoiceBeginsOnce) {
  ChatEncoder encoder(answer_of(2, false, {.is_streaming = true}));
  int begun = 0;
  for (const std::string& item :
       stream_all(encoder, {event(0, Started{}), event(1, Started{}), event(1, ContentDelta{"x"}),
                            event(0, ContentDelta{"y"}), event(0, ChoiceEnded{}),
                            event(1, ChoiceEnded{}), event(0, ended())})) {
    begun += item.find(R"("role")") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(begun, 2);
}

TEST(ChatEncoder, AFailureEndsTheStream) {
  ChatEncoder encoder(answer_of(1, false, {.is_streaming = true, .includes_usage = true}));
  Ended failed = ended();
  failed.failure = Failure(FailureKind::internal, "Broken.");
  const auto items = stream_all(encoder, {event(0, Started{}), event(0, failed)});
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[1], R"({"error":{"message":"Broken.","type":"server_error","param":null,)"
                      R"("code":"internal_error"}})");
}

TEST(ChatEncoder, TimingsComeWhenAsked) {
  ChatEncoder pieces(answer_of(1, false, {.is_streaming = true, .includes_timings = true}));
  const auto items = stream_all(pieces, text_events());
  ASSERT_EQ(items.size(), 6U);
  EXPECT_TRUE(items[4].starts_with(kHead + R"([],"timings":{"queue_ms":)")) << items[4];
  ChatEncoder whole(answer_of(1, false, {.includes_timings = true}));
  EXPECT_NE(collect_all(whole, text_events()).find(R"("timings":{)"), std::string::npos);
}

}  // namespace
}  // namespace zllm::dialect::chat
