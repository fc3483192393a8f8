#include <zllm/dialect/openai_answer.h>

#include <gtest/gtest.h>

#include <zllm/dialect/dialect.h>

namespace zllm::dialect {
namespace {

TEST(OpenaiAnswer, ErrorsNameTheField) {
  EXPECT_EQ(openai_error_body({FailureKind::invalid, "No \"x\".", "messages[0]", "invalid_value"}),
            R"({"error":{"message":"No \"x\".","type":"invalid_request_error",)"
            R"("param":"messages[0]","code":"invalid_value"}})");
  EXPECT_EQ(openai_error_body({FailureKind::internal, "Broken."}),
            R"({"error":{"message":"Broken.","type":"server_error","param":null,)"
            R"("code":"internal_error"}})");
  EXPECT_EQ(openai_error_body({FailureKind::too_long, "Long."}),
            R"({"error":{"message":"Long.","type":"invalid_request_error","param":null,)"
            R"("code":"context_length_exceeded"}})");
}

TEST(OpenaiAnswer, TheFingerprintIsThatOfWhatAnswers) {
  JsonWriter json;
  json.begin_object();
  write_fingerprint(json, {.unique = "U", .created = 7, .model = "m", .identity = "12-cpu"});
  EXPECT_EQ(json.end_object().str(), R"({"system_fingerprint":"fp_12-cpu"})");
  JsonWriter none;
  none.begin_object();
  write_fingerprint(none, {.unique = "U", .created = 7, .model = "m"});
  EXPECT_EQ(none.end_object().str(), "{}");
}

TEST(OpenaiAnswer, TimingsOfNothingAreNull) {
  JsonWriter json;
  json.begin_object();
  write_timings(
      json, {.queue_seconds = 0.5, .prefill_seconds = 2, .decode_seconds = 0},
      {.prompt_tokens = 10, .cached_tokens = 4, .completion_tokens = 0, .reasoning_tokens = 0});
  json.end_object();
  EXPECT_EQ(json.str(),
            R"({"timings":{"queue_ms":500.0,"cache_n":4,"prompt_n":6,"prompt_ms":2000.0,)"
            R"("prompt_per_second":3.0,"predicted_n":0,"predicted_ms":0.0,)"
            R"("predicted_per_second":null}})");
}

TEST(HttpStatus, IsThatOfTheKind) {
  EXPECT_EQ(http_status(FailureKind::invalid), 400);
  EXPECT_EQ(http_status(FailureKind::too_long), 400);
  EXPECT_EQ(http_status(FailureKind::unsupported), 400);
  EXPECT_EQ(http_status(FailureKind::not_found), 404);
  EXPECT_EQ(http_status(FailureKind::busy), 429);
  EXPECT_EQ(http_status(FailureKind::internal), 500);
  EXPECT_EQ(http_status(FailureKind::loading), 503);
  EXPECT_EQ(http_status(FailureKind::shut_down), 503);
  EXPECT_EQ(http_status(FailureKind::out_of_memory), 503);
  EXPECT_EQ(http_status(FailureKind::deadline), 504);
}

}  // namespace
}  // namespace zllm::dialect
