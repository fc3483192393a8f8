#include <zllm/embedded/json/json_answer.h>

#include <gtest/gtest.h>

#include <zllm/base/json.h>
#include <zllm/base/text.h>
#include <zllm/embedded/scripted_model_test-inl.h>

namespace zllm {
namespace {

constexpr std::string_view kScript = "Good morning to you!";

class JsonAnswerTest : public ::testing::Test {
 protected:
  static std::unique_ptr<Engine> make(std::string_view script) {
    auto engine = testing::scripted_engine(script);
    EXPECT_TRUE(engine.ok()) << engine.error().message;
    return *std::move(engine);
  }

  std::unique_ptr<JsonAnswer> ask(std::string_view dialect, std::string_view body) {
    return submit_json(*engine_, {.dialect = dialect, .body = body, .store = store_});
  }
  std::vector<dialect::Item> all(JsonAnswer& answer) {
    std::vector<dialect::Item> items;
    while (auto item = answer.next(std::nullopt)) {
      items.push_back(*std::move(item));
    }
    EXPECT_TRUE(answer.is_done());
    return items;
  }
  Json body_of(std::string_view dialect, std::string_view body, int status) {
    const auto answer = ask(dialect, body);
    const auto items = all(*answer);
    EXPECT_EQ(answer->status(), status);
    EXPECT_FALSE(answer->is_stream());
    EXPECT_EQ(items.size(), 1u);
    return *Json::parse(items.at(0).data, "the answer");
  }

  std::unique_ptr<Engine> engine_ = make(kScript);
  std::shared_ptr<dialect::responses::ResponseStore> store_ =
      std::make_shared<dialect::responses::ResponseStore>(dialect::responses::StoreLimits());
};

const Json& at(const Json& json, std::string_view key) {
  const Json *found = json.find(key);
  EXPECT_NE(found, nullptr) << key << " of " << json.dump();
  static const Json kNone;
  return found == nullptr ? kNone : *found;
}
const Json& first(const Json& json, std::string_view key) {
  return at(json, key).as_array()->at(0);
}

constexpr std::string_view kQuestion =
    R"("messages":[{"role":"user","content":"Hi"}],"model":"m","temperature":0)";

TEST_F(JsonAnswerTest, AStreamTellsTheTextOfTheBody) {
  const Json whole = body_of("chat", concat("{", kQuestion, "}"), 200);
  EXPECT_EQ(*at(at(first(whole, "choices"), "message"), "content").as_string(), kScript);
  EXPECT_EQ(*at(whole, "model").as_string(), "m");
  const Json unnamed = body_of("chat", R"({"messages":[{"role":"user","content":"Hi"}]})", 200);
  EXPECT_EQ(*at(unnamed, "model").as_string(), "scripted");
  const auto stream = ask("chat", concat("{", kQuestion, R"(,"stream":true})"));
  EXPECT_TRUE(stream->is_stream());
  std::string text;
  const auto items = all(*stream);
  EXPECT_EQ(items.back().data, "[DONE]");
  for (const dialect::Item& item : items) {
    const auto json = Json::parse(item.data, "an item");
    const Json *choices = json.ok() ? json->find("choices") : nullptr;
    if (choices != nullptr && !choices->as_array()->empty()) {
      const Json *content = at(choices->as_array()->at(0), "delta").find("content");
      text += content == nullptr || content->is_null() ? "" : *content->as_string();
    }
  }
  EXPECT_EQ(text, kScript);
}

TEST_F(JsonAnswerTest, EveryDialectAnswers) {
  const Json message = body_of("messages", concat("{", kQuestion, R"(,"max_tokens":64})"), 200);
  EXPECT_EQ(*at(first(message, "content"), "text").as_string(), kScript);
  const Json response = body_of("responses", R"({"model":"m","input":"Hi","temperature":0})", 200);
  EXPECT_EQ(*at(response, "status").as_string(), "completed");
  const Json second =
      body_of("responses",
              concat(R"({"model":"m","input":"More","temperature":0,"previous_response_id":)",
                     at(response, "id").dump(), "}"),
              200);
  EXPECT_NE(at(second, "id").dump(), at(response, "id").dump());
  const Json completion = body_of(
      "completions",
      R"({"model":"m","prompt":["a<|im_start|>","b<|im_start|>"],"temperature":0,"max_tokens":64})",
      200);
  const Json::Array& choices = *at(completion, "choices").as_array();
  ASSERT_EQ(choices.size(), 2u);
  for (const Json& choice : choices) {
    EXPECT_EQ(*at(choice, "text").as_string(), kScript);
  }
}

TEST_F(JsonAnswerTest, TruncationDropsWhatDoesNotFit) {
  std::string input;
  for (int i = 0; i < 100; ++i) {
    input += concat(R"({"role":"user","content":"Number )", i, R"("},)");
  }
  const std::string body = concat(R"({"model":"m","temperature":0,"input":[)", input,
                                  R"({"role":"user","content":"Hi"}],"truncation":")");
  const Json error = at(body_of("responses", body + R"(disabled"})", 400), "error");
  EXPECT_EQ(*at(error, "code").as_string(), "context_length_exceeded");
  EXPECT_EQ(*at(error, "param").as_string(), "input");
  const Json response = body_of("responses", body + R"(auto"})", 200);
  EXPECT_EQ(*at(response, "status").as_string(), "completed");
  EXPECT_EQ(*at(response, "truncation").as_string(), "auto");
}

TEST_F(JsonAnswerTest, ErrorsHaveTheDialectsShapeAndStatus) {
  for (const std::string_view dialect : {"chat", "completions", "responses"}) {
    for (const std::string_view body : {"", "{", "[]", R"({"model": "\ud800"})"}) {
      const Json error = body_of(dialect, body, 400);
      EXPECT_NE(at(error, "error").find("message"), nullptr);
    }
  }
  const Json anthropic = body_of("messages", "{", 400);
  EXPECT_EQ(*at(anthropic, "type").as_string(), "error");
  EXPECT_EQ(*at(at(anthropic, "error"), "type").as_string(), "invalid_request_error");
  body_of("no-such-dialect", "{}", 404);
  const Json field = body_of("chat", concat("{", kQuestion, R"(,"top_p":7})"), 400);
  EXPECT_EQ(*at(at(field, "error"), "param").as_string(), "top_p");
  body_of("responses", R"({"model":"m","input":"Hi","background":true})", 400);
}

TEST_F(JsonAnswerTest, WaitsNoLongerThanAsked) {
  const auto answer = ask("chat", concat("{", kQuestion, R"(,"stream":true})"));
  std::size_t items = 0;
  while (!answer->is_done()) {
    items += answer->next(std::chrono::milliseconds(1)) ? std::size_t{1} : 0;
  }
  EXPECT_GT(items, 2u);
  EXPECT_FALSE(answer->try_next());
}

TEST_F(JsonAnswerTest, CancelEndsTheStream) {
  const auto answer = ask(
      "completions",
      R"({"model":"m","prompt":"a<|im_start|>","ignore_eos":true,"stream":true,"max_tokens":400})");
  answer->cancel();
  all(*answer);
  EXPECT_EQ(body_of("chat", concat("{", kQuestion, "}"), 200).find("error"), nullptr);
}

TEST_F(JsonAnswerTest, CountsTheTokensOfThePrompt) {
  const std::string body = concat("{", kQuestion, "}");
  auto counted = count_json_tokens(*engine_, {.dialect = "chat", .body = body});
  ASSERT_TRUE(counted.ok());
  std::uint64_t told = 0;
  EXPECT_TRUE(at(at(body_of("chat", body, 200), "usage"), "prompt_tokens").as_unsigned(told));
  EXPECT_EQ(*counted, told);
}

}  // namespace
}  // namespace zllm
