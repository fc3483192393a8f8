#include <zllm/dialect/anthropic/messages_encoder.h>

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <zllm/base/text.h>

namespace zllm::dialect::anthropic {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const AnswerFacts kFacts{.unique = "u1", .created = 7, .model = "m"};

template <class What>
Event event(What what) {
  return {.what = std::move(what)};
}

Event ended() {
  return event(Ended{.usage = {.prompt_tokens = 10,
                               .cached_tokens = 4,
                               .completion_tokens = 6,
                               .reasoning_tokens = 2},
                     .timings = {}});
}

std::vector<Event> whole_answer() {
  return {event(Started{.prompt_tokens = 10, .cached_tokens = 4}),
          event(ReasoningDelta{"hm"}),
          event(ContentDelta{""}),
          event(ContentDelta{"a"}),
          event(ContentDelta{"b"}),
          event(CallStarted{.call = 0, .id = "c1", .name = "f"}),
          event(CallDelta{.call = 0, .arguments = "{\"x\":"}),
          event(CallDelta{.call = 0, .arguments = "1}"}),
          event(CallFinished{.call = 0}),
          event(CallStarted{.call = 1, .id = "c2", .name = "g"}),
          event(CallFinished{.call = 1}),
          event(ChoiceEnded{.reason = StopReason::calls}),
          ended()};
}

std::vector<std::string> streamed(const std::vector<Event>& events, bool tells_thinking = true) {
  const auto encoder = make_messages_encoder(kFacts, tells_thinking);
  std::vector<Item> items;
  for (const Event& one : events) {
    encoder->stream(one, items);
  }
  std::vector<std::string> lines;
  for (const Item& item : items) {
    EXPECT_THAT(item.data, HasSubstr(concat(R"({"type":")", item.event, "\"")));
    lines.push_back(item.data);
  }
  return lines;
}

std::string collected(const std::vector<Event>& events) {
  const auto encoder = make_messages_encoder(kFacts, true);
  for (const Event& one : events) {
    encoder->collect(one);
  }
  return encoder->body();
}

TEST(MessagesEncoder, StreamsTypedBlocks) {
  EXPECT_THAT(
      streamed(whole_answer()),
      ElementsAre(
          R"({"type":"message_start","message":{"id":"msg_u1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":6,"cache_creation_input_tokens":0,"cache_read_input_tokens":4,"output_tokens":0,"output_tokens_details":{"thinking_tokens":0},"service_tier":"standard"}}})",
          R"({"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}})",
          R"({"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}})",
          R"({"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"zllm-u1"}})",
          R"({"type":"content_block_stop","index":0})",
          R"({"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}})",
          R"({"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"a"}})",
          R"({"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"b"}})",
          R"({"type":"content_block_stop","index":1})",
          R"({"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_c1","name":"f","input":{}}})",
          R"({"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"x\":"}})",
          R"({"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"1}"}})",
          R"({"type":"content_block_stop","index":2})",
          R"({"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_c2","name":"g","input":{}}})",
          R"({"type":"content_block_stop","index":3})",
          R"({"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":6,"cache_creation_input_tokens":0,"cache_read_input_tokens":4,"output_tokens":6,"output_tokens_details":{"thinking_tokens":2}}})",
          R"({"type":"message_stop"})"));
}

TEST(MessagesEncoder, CollectsTheSame) {
  EXPECT_EQ(collected(whole_answer()),
            R"({"id":"msg_u1","type":"message","role":"assistant","model":"m","content":[)"
            R"({"type":"thinking","thinking":"hm","signature":"zllm-u1"},)"
            R"({"type":"text","text":"ab"},)"
            R"({"type":"tool_use","id":"toolu_c1","name":"f","input":{"x":1}},)"
            R"({"type":"tool_use","id":"toolu_c2","name":"g","input":{}}],)"
            R"("stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":6,)"
            R"("cache_creation_input_tokens":0,"cache_read_input_tokens":4,"output_tokens":6,)"
            R"("output_tokens_details":{"thinking_tokens":2},"service_tier":"standard"}})");
}

TEST(MessagesEncoder, AnEmptyAnswerHasAnEmptyBlock) {
  const std::vector<Event> events = {event(Started{}), event(ChoiceEnded{}), ended()};
  EXPECT_THAT(collected(events), HasSubstr(R"("content":[{"type":"text","text":""}])"));
  const auto lines = streamed(events);
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_THAT(lines[1], HasSubstr("content_block_start"));
  EXPECT_THAT(lines[2], HasSubstr("content_block_stop"));
}

void expect_stop(const ChoiceEnded& end, const std::string& expected) {
  const std::vector<Event> events = {event(Started{}), event(ContentDelta{"a"}), event(end),
                                     ended()};
  EXPECT_THAT(collected(events), HasSubstr(expected));
  EXPECT_THAT(streamed(events)[4], HasSubstr(expected));
}

TEST(MessagesEncoder, TellsWhyItStopped) {
  expect_stop({.reason = StopReason::end}, R"("stop_reason":"end_turn","stop_sequence":null)");
  expect_stop({.reason = StopReason::stop, .stop_string = "X\n"},
              R"("stop_reason":"stop_sequence","stop_sequence":"X\n")");
  expect_stop({.reason = StopReason::length}, R"("stop_reason":"max_tokens","stop_sequence":null)");
  expect_stop({.reason = StopReason::length, .is_context_full = true},
              R"("stop_reason":"model_context_window_exceeded","stop_sequence":null)");
  expect_stop({.reason = StopReason::calls}, R"("stop_reason":"tool_use","stop_sequence":null)");
}

TEST(MessagesEncoder, ACutCallKeepsWhatItHas) {
  EXPECT_THAT(collected({event(Started{}), event(CallStarted{.id = "c", .name = "f"}),
                         event(CallDelta{.arguments = "{\"x\":"}),
                         event(ChoiceEnded{.reason = StopReason::length}), ended()}),
              HasSubstr(R"("input":{"INVALID_JSON":"{\"x\":"}})"));
}

TEST(MessagesEncoder, FailsInTheStream) {
  const Failure failure{FailureKind::out_of_memory, "No memory."};
  const auto lines = streamed({event(Started{}), event(ContentDelta{"a"}),
                               event(Ended{.usage = {}, .timings = {}, .failure = failure})});
  EXPECT_EQ(lines.back(),
            R"({"type":"error","error":{"type":"overloaded_error","message":"No memory."}})");
}

TEST(MessagesEncoder, ThinkingCanBeLeftOut) {
  const auto lines = streamed({event(Started{}), event(ReasoningDelta{"hm"}),
                               event(ContentDelta{"a"}), event(ChoiceEnded{}), ended()},
                              false);
  EXPECT_THAT(lines[1], HasSubstr(R"("type":"thinking","thinking":"")"));
  EXPECT_THAT(lines[2], HasSubstr("signature_delta"));
}

}  // namespace
}  // namespace zllm::dialect::anthropic
