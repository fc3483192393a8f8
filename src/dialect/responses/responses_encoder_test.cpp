#include <zllm/dialect/responses/responses_encoder.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <zllm/base/json.h>
#include <zllm/base/text.h>

namespace zllm::dialect::responses {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <class What>
Event event(What what) {
  return {.what = std::move(what)};
}

Event ended() {
  return event(Ended{.usage = {.prompt_tokens = 10,
                               .cached_tokens = 4,
                               .completion_tokens = 6,
                               .reasoning_tokens = 2},
                     .timings = {.decode_seconds = 3}});
}

ResponseSettings settings() {
  return {.facts = {.unique = "u", .created = 7, .model = "m"},
          .echo = R"("store":false)",
          .is_stored = false};
}

std::vector<Item> stream(ResponseSettings with, const std::vector<Event>& events) {
  ResponsesEncoder encoder(std::move(with), nullptr);
  std::vector<Item> items;
  for (const Event& one : events) {
    encoder.stream(one, items);
  }
  return items;
}

std::string collect(ResponseSettings with, const std::vector<Event>& events) {
  ResponsesEncoder encoder(std::move(with), nullptr);
  for (const Event& one : events) {
    encoder.collect(one);
  }
  return encoder.body();
}

std::vector<Event> whole_answer() {
  return {event(Started{}),
          event(ReasoningDelta{"hm"}),
          event(ContentDelta{"a"}),
          event(ContentDelta{""}),
          event(ContentDelta{"b"}),
          event(CallStarted{.call = 0, .id = "c1", .name = "f"}),
          event(CallDelta{.call = 0, .arguments = "{}"}),
          event(CallFinished{.call = 0}),
          event(CallStarted{.call = 1, .id = "c2", .name = "g"}),
          event(CallFinished{.call = 1}),
          event(ChoiceEnded{.reason = StopReason::calls}),
          ended()};
}

// The event without what all have.
std::string rest_of(const Item& item, std::size_t number) {
  const std::string head =
      concat(R"({"type":")", item.event, R"(","sequence_number":)", number, ",");
  EXPECT_EQ(item.data.substr(0, head.size()), head);
  return concat(item.event.substr(std::string_view("response.").size()), " ",
                item.data.substr(std::min(head.size(), item.data.size())));
}

constexpr const char *kOutput =
    R"("output":[{"id":"rs_u_0","type":"reasoning","summary":[],"status":"completed","content":[{"type":"reasoning_text","text":"hm"}],"encrypted_content":null},)"
    R"({"id":"msg_u_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"ab","annotations":[],"logprobs":[]}]},)"
    R"({"id":"fc_u_2","type":"function_call","call_id":"c1","name":"f","arguments":"{}","status":"completed"},)"
    R"({"id":"fc_u_3","type":"function_call","call_id":"c2","name":"g","arguments":"","status":"completed"}])";

TEST(ResponsesEncoder, StreamsItems) {
  const std::vector<Item> items = stream(settings(), whole_answer());
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < items.size(); ++i) {
    lines.push_back(rest_of(items[i], i));
  }
  const std::string begun =
      R"("response":{"id":"resp_u","object":"response","created_at":7,"status":"in_progress","completed_at":null,"error":null,"incomplete_details":null,"model":"m","output":[],"store":false,"usage":null}})";
  const std::string whole = concat(
      R"("response":{"id":"resp_u","object":"response","created_at":7,"status":"completed","completed_at":10,"error":null,"incomplete_details":null,"model":"m",)",
      kOutput,
      R"(,"store":false,"usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":4,"cache_write_tokens":0},"output_tokens":6,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":16}}})");
  EXPECT_THAT(
      lines,
      ElementsAre(
          "created " + begun, "in_progress " + begun,
          R"(output_item.added "output_index":0,"item":{"id":"rs_u_0","type":"reasoning","summary":[],"status":"in_progress","content":[],"encrypted_content":null}})",
          R"(content_part.added "item_id":"rs_u_0","output_index":0,"content_index":0,"part":{"type":"reasoning_text","text":""}})",
          R"(reasoning_text.delta "item_id":"rs_u_0","output_index":0,"content_index":0,"delta":"hm"})",
          R"(reasoning_text.done "item_id":"rs_u_0","output_index":0,"content_index":0,"text":"hm"})",
          R"(content_part.done "item_id":"rs_u_0","output_index":0,"content_index":0,"part":{"type":"reasoning_text","text":"hm"}})",
          R"(output_item.done "output_index":0,"item":{"id":"rs_u_0","type":"reasoning","summary":[],"status":"completed","content":[{"type":"reasoning_text","text":"hm"}],"encrypted_content":null}})",
          R"(output_item.added "output_index":1,"item":{"id":"msg_u_1","type":"message","role":"assistant","status":"in_progress","content":[]}})",
          R"(content_part.added "item_id":"msg_u_1","output_index":1,"content_index":0,"part":{"type":"output_text","text":"","annotations":[],"logprobs":[]}})",
          R"(output_text.delta "item_id":"msg_u_1","output_index":1,"content_index":0,"delta":"a","logprobs":[]})",
          R"(output_text.delta "item_id":"msg_u_1","output_index":1,"content_index":0,"delta":"b","logprobs":[]})",
          R"(output_text.done "item_id":"msg_u_1","output_index":1,"content_index":0,"text":"ab","logprobs":[]})",
          R"(content_part.done "item_id":"msg_u_1","output_index":1,"content_index":0,"part":{"type":"output_text","text":"ab","annotations":[],"logprobs":[]}})",
          R"(output_item.done "output_index":1,"item":{"id":"msg_u_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"ab","annotations":[],"logprobs":[]}]}})",
          R"(output_item.added "output_index":2,"item":{"id":"fc_u_2","type":"function_call","call_id":"c1","name":"f","arguments":"","status":"in_progress"}})",
          R"(function_call_arguments.delta "item_id":"fc_u_2","output_index":2,"delta":"{}"})",
          R"(function_call_arguments.done "item_id":"fc_u_2","output_index":2,"name":"f","arguments":"{}"})",
          R"(output_item.done "output_index":2,"item":{"id":"fc_u_2","type":"function_call","call_id":"c1","name":"f","arguments":"{}","status":"completed"}})",
          R"(output_item.added "output_index":3,"item":{"id":"fc_u_3","type":"function_call","call_id":"c2","name":"g","arguments":"","status":"in_progress"}})",
          R"(function_call_arguments.done "item_id":"fc_u_3","output_index":3,"name":"g","arguments":""})",
          R"(output_item.done "output_index":3,"item":{"id":"fc_u_3","type":"function_call","call_id":"c2","name":"g","arguments":"","status":"completed"}})",
          "completed " + whole));
}

TEST(ResponsesEncoder, CollectsTheSame) {
  EXPECT_THAT(collect(settings(), whole_answer()), HasSubstr(kOutput));
}

TEST(ResponsesEncoder, ACallThatIsCutIsIncomplete) {
  const auto text_of = [](bool is_cut) {
    return collect(settings(),
                   {event(Started{}), event(CallStarted{.call = 0, .id = "c1", .name = "say"}),
                    event(CallDelta{.call = 0, .arguments = R"({"a)"}),
                    event(CallFinished{.call = 0, .is_cut = is_cut}),
                    event(ChoiceEnded{.reason = StopReason::length}), ended()});
  };
  EXPECT_THAT(text_of(true), HasSubstr(R"("arguments":"{\"a","status":"incomplete"})"));
  EXPECT_THAT(text_of(false), HasSubstr(R"("arguments":"{\"a","status":"completed"})"));
}

TEST(ResponsesEncoder, CustomCallsTellTheirInput) {
  ResponseSettings custom = settings();
  custom.custom_tools.emplace("say", "{}");
  const auto items =
      stream(std::move(custom),
             {event(Started{}), event(CallStarted{.call = 0, .id = "c1", .name = "say"}),
              event(CallDelta{.call = 0, .arguments = R"({"inp)"}),
              event(CallDelta{.call = 0, .arguments = R"(ut": "a\)"}),
              event(CallDelta{.call = 0, .arguments = R"(nb"})"}), event(CallFinished{.call = 0}),
              event(ChoiceEnded{.reason = StopReason::calls}), ended()});
  std::vector<std::string> lines;
  for (std::size_t i = 2; i + 1 < items.size(); ++i) {
    lines.push_back(rest_of(items[i], i));
  }
  EXPECT_THAT(
      lines,
      ElementsAre(
          R"(output_item.added "output_index":0,"item":{"id":"ctc_u_0","type":"custom_tool_call","call_id":"c1","name":"say","input":"","status":"in_progress"}})",
          R"(custom_tool_call_input.delta "item_id":"ctc_u_0","output_index":0,"delta":"a"})",
          R"(custom_tool_call_input.delta "item_id":"ctc_u_0","output_index":0,"delta":"\nb"})",
          R"(custom_tool_call_input.done "item_id":"ctc_u_0","output_index":0,"input":"a\nb"})",
          R"(output_item.done "output_index":0,"item":{"id":"ctc_u_0","type":"custom_tool_call","call_id":"c1","name":"say","input":"a\nb","status":"completed"}})"));
}

TEST(ResponsesEncoder, BackgroundBeginsQueued) {
  ResponseSettings background = settings();
  background.is_background = true;
  const auto items = stream(std::move(background), {event(Started{})});
  ASSERT_EQ(items.size(), 3U);
  EXPECT_THAT(items[0].data, HasSubstr(R"("status":"queued")"));
  EXPECT_EQ(items[1].event, "response.queued");
  EXPECT_THAT(items[2].data, HasSubstr(R"("status":"in_progress")"));
}

TEST(ResponsesEncoder, KeepsEventsWhoeverListens) {
  ResponseSettings kept = settings();
  kept.is_background = true;
  kept.events = std::make_shared<EventLog>();
  const std::shared_ptr<EventLog> log = kept.events;
  ResponsesEncoder encoder(std::move(kept), nullptr);
  EXPECT_EQ(encoder.queued().events, log);
  std::vector<Item> told;
  encoder.stream(event(Started{}), told);
  encoder.stream(event(ContentDelta{"a"}), told);
  encoder.collect(event(ContentDelta{"b"}));  // its client has left
  encoder.collect(event(ChoiceEnded{}));
  EXPECT_FALSE(log->read(0, 99).is_last);
  encoder.collect(ended());
  const EventLog::Part part = log->read(0, 99);
  EXPECT_TRUE(part.is_last);
  ASSERT_GT(part.events.size(), told.size());
  for (std::size_t i = 0; i < part.events.size(); ++i) {
    EXPECT_THAT(part.events[i].data, HasSubstr(concat("\"sequence_number\":", i, ",")));
    if (i < told.size()) {
      EXPECT_EQ(part.events[i].data, told[i].data);
    }
  }
  EXPECT_EQ(part.events.back().event, "response.completed");
}

TEST(ResponsesEncoder, ALimitLeavesItIncomplete) {
  const auto items =
      stream(settings(), {event(Started{}), event(ContentDelta{"a"}),
                          event(ChoiceEnded{.reason = StopReason::length}), ended()});
  EXPECT_EQ(items.back().event, "response.incomplete");
  EXPECT_THAT(items.back().data,
              HasSubstr(R"("incomplete_details":{"reason":"max_output_tokens"})"));
  EXPECT_THAT(items.back().data, HasSubstr(R"("role":"assistant","status":"incomplete")"));
}

TEST(ResponsesEncoder, ACancelledStreamEndsIncomplete) {
  ResponseSettings background = settings();
  background.is_background = true;
  const auto items =
      stream(std::move(background), {event(Started{}), event(ContentDelta{"a"}),
                                     event(ChoiceEnded{.reason = StopReason::cancelled}), ended()});
  EXPECT_EQ(items.back().event, "response.incomplete");
  EXPECT_THAT(items.back().data, HasSubstr(R"("status":"cancelled")"));
  EXPECT_THAT(items.back().data, HasSubstr(R"("incomplete_details":null)"));
}

TEST(ResponsesEncoder, FailsInTheStream) {
  const Failure failure{FailureKind::internal, "It broke."};
  const auto items =
      stream(settings(), {event(Started{}), event(ContentDelta{"a"}),
                          event(Ended{.usage = {}, .timings = {}, .failure = failure})});
  EXPECT_EQ(items.back().event, "response.failed");
  EXPECT_THAT(
      items.back().data,
      HasSubstr(
          R"("status":"failed","completed_at":null,"error":{"code":"server_error","message":"It broke."})"));
}

TEST(ResponsesEncoder, AnEmptyAnswerHasAMessage) {
  EXPECT_THAT(
      collect(settings(), {event(Started{}), event(ChoiceEnded{}), ended()}),
      HasSubstr(R"("content":[{"type":"output_text","text":"","annotations":[],"logprobs":[]}])"));
}

TEST(ResponsesEncoder, IsCancelledWhenItsClientLeaves) {
  ResponseSettings stored = settings();
  stored.is_stored = true;
  const auto store = std::make_shared<ResponseStore>(StoreLimits{});
  ResponsesEncoder encoder(std::move(stored), store);
  std::vector<Item> items;
  encoder.stream(event(Started{}), items);
  encoder.stream(event(ContentDelta{"a"}), items);
  encoder.abandon();
  const auto kept = store->get("", "resp_u");
  ASSERT_TRUE(kept.has_value());
  EXPECT_TRUE(kept->is_final);
  EXPECT_TRUE(kept->is_cancelled);
  EXPECT_THAT(kept->body, HasSubstr(R"("status":"cancelled")"));
  EXPECT_THAT(kept->body, HasSubstr(R"("text":"a")"));
}

TEST(ResponsesEncoder, ScoredTokensGoWithTheirText) {
  ResponseSettings scored = settings();
  scored.has_log_probabilities = true;
  const auto token = [](std::string bytes, bool is_content) {
    return ScoredToken{
        .token = 1, .bytes = std::move(bytes), .log_probability = -0.5, .is_content = is_content};
  };
  const auto items =
      stream(std::move(scored), {event(Started{}),
                                 {.scored = {token("r", false)}, .what = ReasoningDelta{"r"}},
                                 {.scored = {token("m", false), token("a", true), token("b", true)},
                                  .what = ContentDelta{"ab"}},
                                 {.scored = {token("c", true)}, .what = ContentDelta{"c"}},
                                 {.scored = {token("e", false)}, .what = ChoiceEnded{}},
                                 ended()});
  const std::string one = R"("logprob":-0.5,"bytes":[)";
  const std::string a = concat(R"({"token":"a",)", one, R"(97],"top_logprobs":[]})");
  const std::string b = concat(R"({"token":"b",)", one, R"(98],"top_logprobs":[]})");
  const std::string c = concat(R"({"token":"c",)", one, R"(99],"top_logprobs":[]})");
  std::string deltas, done;
  for (const Item& item : items) {
    deltas += item.event == "response.output_text.delta" ? item.data : "";
    done += item.event == "response.output_text.done" ? item.data : "";
  }
  EXPECT_THAT(deltas, HasSubstr(concat(R"("delta":"ab","logprobs":[)", a, ",", b, "]")));
  EXPECT_THAT(done, HasSubstr(concat(R"("logprobs":[)", a, ",", b, ",", c, "]")));
}

}  // namespace
}  // namespace zllm::dialect::responses
