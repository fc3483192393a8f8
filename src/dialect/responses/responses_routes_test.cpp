#include <zllm/dialect/responses/responses_routes.h>

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <zllm/base/text.h>
#include <zllm/dialect/field_reader.h>

namespace zllm::dialect::responses {
namespace {

using testing::HasSubstr;

StoredResponse with_items(int count) {
  StoredResponse response{.body = R"({"id":"resp_u","status":"in_progress"})"};
  for (int i = 0; i < count; ++i) {
    response.input_items.push_back(concat(R"({"id":"i)", i, "\"}"));
  }
  return response;
}

std::string items(const QueryParameters& query, int count = 3) {
  auto body = input_items_body(with_items(count), query);
  EXPECT_TRUE(body.ok());
  return body.ok() ? std::move(body).value() : "";
}

std::string blamed(const QueryParameters& query) {
  const auto body = input_items_body(with_items(3), query);
  EXPECT_FALSE(body.ok());
  return body.ok() ? "" : body.error().field;
}

TEST(ResponsesRoutes, ListsInputItems) {
  EXPECT_EQ(items({}), R"({"object":"list","data":[{"id":"i2"},{"id":"i1"},{"id":"i0"}],)"
                       R"("first_id":"i2","last_id":"i0","has_more":false})");
  EXPECT_EQ(items({{"order", "asc"}, {"limit", "1"}, {"after", "i0"}}),
            R"({"object":"list","data":[{"id":"i1"}],"first_id":"i1","last_id":"i1",)"
            R"("has_more":true})");
  EXPECT_EQ(items({{"include[]", "message.output_text.logprobs"}}, 0),
            R"({"object":"list","data":[],"first_id":null,"last_id":null,"has_more":false})");
}

TEST(ResponsesRoutes, RefusesParametersByName) {
  EXPECT_EQ(blamed({{"limit", "0"}}), "limit");
  EXPECT_EQ(blamed({{"limit", "101"}}), "limit");
  EXPECT_EQ(blamed({{"order", "up"}}), "order");
  EXPECT_EQ(blamed({{"after", "x"}}), "after");
  EXPECT_EQ(blamed({{"include", "x"}}), "include");
  EXPECT_EQ(blamed({{"page", "1"}}), "page");
}

TEST(ResponsesRoutes, StreamsAgainWhatWasStreamedInTheBackground) {
  const auto blamed_get = [](const StoredResponse& response, const QueryParameters& query) {
    const auto read = read_stored_query(response, query);
    return read.ok() ? std::string() : read.error().field;
  };
  StoredResponse response = with_items(0);
  EXPECT_EQ(blamed_get(response, {}), "");
  EXPECT_EQ(blamed_get(response, {{"stream", "false"}, {"include_obfuscation", "false"}}), "");
  EXPECT_EQ(blamed_get(response, {{"stream", "true"}}), "stream");
  response.events = std::make_shared<EventLog>(std::size_t{1000});
  EXPECT_EQ(blamed_get(response, {{"stream", "yes"}}), "stream");
  EXPECT_EQ(blamed_get(response, {{"include_obfuscation", "true"}}), "include_obfuscation");
  EXPECT_EQ(blamed_get(response, {{"starting_after", "3"}}), "starting_after");
  EXPECT_EQ(blamed_get(response, {{"stream", "true"}, {"starting_after", "-1"}}), "starting_after");
  EXPECT_EQ(blamed_get(response, {{"stream", "true"}, {"starting_after", "4294967296"}}),
            "starting_after");
  EXPECT_EQ(blamed_get(response, {{"colour", "red"}}), "colour");
  auto whole = read_stored_query(response, {{"stream", "true"}});
  ASSERT_TRUE(whole.ok());
  EXPECT_TRUE(whole->is_streaming);
  EXPECT_EQ(whole->first_event, 0U);
  auto rest = read_stored_query(response, {{"starting_after", "3"}, {"stream", "true"}});
  ASSERT_TRUE(rest.ok());
  EXPECT_EQ(rest->first_event, 4U);
  response.events->append({.event = "e", .data = std::string(1000, ' ')});
  EXPECT_EQ(blamed_get(response, {{"stream", "true"}}), "stream");
}

TEST(ResponsesRoutes, CancelsBackgroundResponsesThatRun) {
  StoredResponse response = with_items(0);
  EXPECT_FALSE(needs_cancel(response).ok());
  response.is_background = true;
  auto running = needs_cancel(response);
  ASSERT_TRUE(running.ok());
  EXPECT_TRUE(*running);
  const StoredResponse ended = cancelled(response);
  EXPECT_EQ(ended.body, R"({"id":"resp_u","status":"cancelled"})");
  EXPECT_TRUE(ended.is_final);
  auto again = needs_cancel(ended);
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(*again);
  response.is_final = true;
  EXPECT_FALSE(needs_cancel(response).ok());
  EXPECT_EQ(cancelled(response).body, response.body);
}

TEST(ResponsesRoutes, NamesFieldsAsRequestsDo) {
  EXPECT_EQ(named({FailureKind::invalid, "", "response_format"}).field, "text.format.schema");
  EXPECT_EQ(named({FailureKind::too_long, "", "messages"}).field, "input");
  EXPECT_EQ(named({FailureKind::invalid, "", "tools"}).field, "tools");
  EXPECT_EQ(named({FailureKind::too_long, "", "messages", "context_length_exceeded"}).field,
            "input");
  // A reader has named its own.
  EXPECT_EQ(named(unsupported_field("prompt", "none")).field, "prompt");
  EXPECT_THAT(error_body({FailureKind::invalid, "", "max_tokens"}),
              HasSubstr(R"("param":"max_output_tokens")"));
}

TEST(ResponsesRoutes, TellsWhatIsGone) {
  EXPECT_EQ(deleted_body("resp_u"), R"({"id":"resp_u","object":"response","deleted":true})");
  EXPECT_EQ(unknown_response("resp_u").kind, FailureKind::not_found);
  EXPECT_THAT(unknown_response("resp_u").message, HasSubstr("resp_u"));
}

}  // namespace
}  // namespace zllm::dialect::responses
