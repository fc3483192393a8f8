#include <zllm/dialect/completions/completions_encoder.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <zllm/base/json.h>
#include <zllm/base/text.h>

namespace zllm::dialect::completions {
namespace {

struct Step {
  std::size_t prompt;
  Event event;
};

CompletionsAnswer answer_of(std::size_t prompts, std::uint32_t choices, bool is_scored,
                            OutputOptions output) {
  return {.facts = {.unique = "U", .created = 7, .model = "m"},
          .prompts = prompts,
          .choices = choices,
          .has_log_probabilities = is_scored,
          .output = output};
}

Step step(std::size_t prompt, std::uint32_t choice, decltype(Event::what) what,
          std::vector<ScoredToken> scored = {}) {
  return {prompt, {.choice = choice, .scored = std::move(scored), .what = std::move(what)}};
}

Ended ended() {
  return {.usage = {.prompt_tokens = 3,
                    .cached_tokens = 1,
                    .completion_tokens = 2,
                    .reasoning_tokens = 0},
          .timings = {},
          .failure = {}};
}

std::vector<std::string> stream_all(CompletionsEncoder& encoder, const std::vector<Step>& steps) {
  std::vector<Item> items;
  for (const Step& each : steps) {
    encoder.stream(each.prompt, each.event, items);
  }
  std::vector<std::string> texts;
  for (const Item& item : items) {
    texts.push_back(item.data);
  }
  return texts;
}

std::vector<Step> two_prompts() {
  return {step(0, 0, Started{3, 1}),
          step(1, 0, Started{3, 1}),
          step(1, 0, ContentDelta{"b"}),
          step(0, 0, ContentDelta{"a"}),
          step(0, 0, ChoiceEnded{.reason = StopReason::stop}),
          step(0, 0, ended()),
          step(1, 0, ChoiceEnded{.reason = StopReason::length}),
          step(1, 0, ended())};
}

const std::string kHead =
    R"({"id":"cmpl-U","object":"text_completion","created":7,"model":"m","choices":)";
const std::string kUsage = R"("usage":{"prompt_tokens":6,"completion_tokens":4,"total_tokens":10,)"
                           R"("prompt_tokens_details":{"cached_tokens":2},)"
                           R"("completion_tokens_details":{"reasoning_tokens":0}}})";

TEST(CompletionsEncoder, StreamsAllPrompts) {
  CompletionsEncoder encoder(
      answer_of(2, 1, false, {.is_streaming = true, .includes_usage = true}));
  const std::vector<std::string> expected = {
      kHead + R"([{"text":"b","index":1,"logprobs":null,"finish_reason":null}],"usage":null})",
      kHead + R"([{"text":"a","index":0,"logprobs":null,"finish_reason":null}],"usage":null})",
      kHead + R"([{"text":"","index":0,"logprobs":null,"finish_reason":"stop"}],"usage":null})",
      kHead + R"([{"text":"","index":1,"logprobs":null,"finish_reason":"length"}],"usage":null})",
      kHead + "[]," + kUsage,
      "[DONE]"};
  EXPECT_EQ(stream_all(encoder, two_prompts()), expected);
}

TEST(CompletionsEncoder, WritesAllPrompts) {
  CompletionsEncoder encoder(answer_of(2, 1, false, {}));
  for (const Step& each : two_prompts()) {
    encoder.collect(each.prompt, each.event);
  }
  EXPECT_EQ(encoder.body(),
            kHead +
                R"([{"text":"a","index":0,"logprobs":null,"finish_reason":"stop"},)"
                R"({"text":"b","index":1,"logprobs":null,"finish_reason":"length"}],)" +
                kUsage);
}

std::vector<Step> scored_steps() {
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  return {step(0, 1, Started{}),
          step(0, 1, ContentDelta{"\xc3\xa9"},
               {{.token = 1, .bytes = "\xc3", .log_probability = unknown, .top = {}},
                {.token = 2,
                 .bytes = "\xa9",
                 .log_probability = -1,
                 .top = {{.token = 3, .bytes = "x", .log_probability = -0.5, .top = {}}}}}),
          step(0, 1, ChoiceEnded{},
               {{.token = 4,
                 .bytes = "y",
                 .log_probability = -2,
                 .top = {{.token = 4, .bytes = "y", .log_probability = -2, .top = {}}}}}),
          step(0, 0, ended())};
}

TEST(CompletionsEncoder, WritesLogProbabilitiesInTheOldShape) {
  CompletionsEncoder encoder(answer_of(1, 2, true, {}));
  for (const Step& each : scored_steps()) {
    encoder.collect(each.prompt, each.event);
  }
  const std::string body = encoder.body();
  EXPECT_NE(body.find(R"("logprobs":{"tokens":["bytes:\\xc3","bytes:\\xa9","y"],)"
                      R"("token_logprobs":[null,-1.0,-2.0],)"
                      R"("top_logprobs":[null,{"x":-0.5,"bytes:\\xa9":-1.0},{"y":-2.0}],)"
                      R"("text_offset":[0,1,1]},"finish_reason":"stop")"),
            std::string::npos)
      << body;
}

TEST(CompletionsEncoder, OffsetsGoOnOverAStream) {
  CompletionsEncoder encoder(answer_of(1, 2, true, {.is_streaming = true}));
  const auto items = stream_all(encoder, scored_steps());
  ASSERT_EQ(items.size(), 3U);
  EXPECT_NE(items[0].find(R"("text_offset":[0,1])"), std::string::npos) << items[0];
  EXPECT_NE(items[1].find(R"("text_offset":[1])"), std::string::npos) << items[1];
  EXPECT_NE(items[1].find(R"("finish_reason":"stop")"), std::string::npos);
}

TEST(CompletionsEncoder, OneFailureEndsTheStreamOfAll) {
  CompletionsEncoder encoder(answer_of(2, 1, false, {.is_streaming = true}));
  Ended failed = ended();
  failed.failure = Failure(FailureKind::deadline, "Late.");
  const auto items = stream_all(encoder, {step(0, 0, failed), step(1, 0, ContentDelta{"b"}),
                                          step(1, 0, ChoiceEnded{}), step(1, 0, ended())});
  ASSERT_EQ(items.size(), 1U);
  EXPECT_TRUE(items[0].starts_with(R"({"error":{"message":"Late.")")) << items[0];
}

}  // namespace
}  // namespace zllm::dialect::completions
