#include <zllm/dialect/completions/completions.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <zllm/base/json.h>
#include <zllm/base/text.h>

namespace zllm::dialect::completions {
namespace {

Batch accepted(const std::string& text) {
  const auto json = Json::parse(text, "body");
  EXPECT_TRUE(json.ok()) << text;
  auto batch = read(*json, {});
  EXPECT_TRUE(batch.ok()) << text << (batch.ok() ? "" : batch.error().message);
  return std::move(batch).value();
}

std::string refused_field(std::string_view text) {
  const auto json = Json::parse(text, "body");
  EXPECT_TRUE(json.ok()) << text;
  auto batch = read(*json, {});
  return batch.ok() ? "accepted" : batch.error().field;
}

const auto& prompt_of(const Batch& batch, std::size_t index) {
  return std::get<RawPrompt>(batch.requests.at(index).input).prompt;
}

TEST(CompletionsRead, PromptsOfEveryForm) {
  EXPECT_EQ(std::get<std::string>(prompt_of(accepted(R"({"prompt":"a"})"), 0)), "a");
  const Batch texts = accepted(R"({"prompt":["a","b"]})");
  ASSERT_EQ(texts.requests.size(), 2U);
  EXPECT_EQ(std::get<std::string>(prompt_of(texts, 1)), "b");
  const std::vector<TokenId> ids = {1, 2};
  EXPECT_EQ(std::get<std::vector<TokenId>>(prompt_of(accepted(R"({"prompt":[1,2]})"), 0)), ids);
  const Batch arrays = accepted(R"({"prompt":[[3],[1,2]]})");
  ASSERT_EQ(arrays.requests.size(), 2U);
  EXPECT_EQ(std::get<std::vector<TokenId>>(prompt_of(arrays, 1)), ids);
}

TEST(CompletionsRead, FieldsLandInEveryRequest) {
  const Batch batch = accepted(
      R"({"model":"m","prompt":["a","b"],"n":2,"best_of":3,"echo":true,"logprobs":5,"seed":3,
          "max_tokens":0,"stop":"x","temperature":0,"suffix":"","user":"u"})");
  ASSERT_EQ(batch.requests.size(), 2U);
  for (const Request& request : batch.requests) {
    EXPECT_EQ(request.choices, 2U);
    EXPECT_EQ(request.candidates, 3U);
    EXPECT_TRUE(request.echoes_prompt);
    EXPECT_EQ(request.top_log_probabilities, 5U);
    EXPECT_EQ(request.sampling.seed, 3U);
    EXPECT_EQ(request.max_tokens, 0U);
    EXPECT_EQ(request.stop, std::vector<std::string>{"x"});
    EXPECT_FALSE(request.reasoning.is_separate);
  }
  EXPECT_EQ(accepted(R"({"prompt":"a"})").requests[0].max_tokens, 16U);
}

TEST(CompletionsRead, RefusalsNameTheField) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"{}", "prompt"},
      {R"({"prompt":null})", "prompt"},
      {R"({"prompt":5})", "prompt"},
      {R"({"prompt":[]})", "prompt"},
      {R"({"prompt":["a",1]})", "prompt[1]"},
      {R"({"prompt":[1,"a"]})", "prompt[1]"},
      {R"({"prompt":[1,-1]})", "prompt[1]"},
      {R"({"prompt":[[1],[]]})", "prompt[1]"},
      {R"({"prompt":[[1],[1.5]]})", "prompt[1][0]"},
      {R"({"prompt":"a","suffix":"b"})", "suffix"},
      {R"({"prompt":"a","suffix":1})", "suffix"},
      {R"({"prompt":"a","max_tokens":0})", "max_tokens"},
      {R"({"prompt":"a","logprobs":21})", "logprobs"},
      {R"({"prompt":"a","logprobs":true})", "logprobs"},
      {R"({"prompt":"a","best_of":2,"stream":true})", "best_of"},
      {R"({"prompt":"a","temperature":3})", "temperature"},
      {R"({"prompt":"a","messages":[]})", "messages"},
      {R"({"prompt":["a","b","c","d","e","f","g","h","i"],"n":128})", "n"},
  };
  for (const auto& [text, field] : cases) {
    EXPECT_EQ(refused_field(text), field) << text;
  }
}

}  // namespace
}  // namespace zllm::dialect::completions
