#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <zllm/embedded/c/handles.h>
#include <zllm/embedded/scripted_model_test-inl.h>

namespace zllm::c {
namespace {

constexpr const char *kBody =
    R"({"model":"m","messages":[{"role":"user","content":"Hi"}],"temperature":0,"stream":true})";

// A handle as zllm_engine_load gives it, on a scripted model.
zllm_engine *engine_of(std::string_view script) {
  auto made = testing::scripted_engine(script);
  EXPECT_TRUE(made.ok()) << made.error().message;
  auto engine = std::make_unique<zllm_engine>();
  engine->engine = *std::move(made);
  return engine.release();
}

std::vector<std::string> items_of(zllm_answer *answer) {
  std::vector<std::string> items;
  zllm_item item = ZLLM_INIT(zllm_item);
  while (zllm_answer_next(answer, -1, &item, nullptr) == ZLLM_OK) {
    EXPECT_EQ(std::strlen(item.data), item.data_size);
    items.emplace_back(item.data);
  }
  EXPECT_EQ(zllm_answer_next(answer, 0, &item, nullptr), ZLLM_END);
  return items;
}

TEST(CLibrary, StreamsWhatTheServiceWouldSend) {
  zllm_engine *engine = engine_of("Hello");
  zllm_answer *answer = nullptr;
  zllm_error error = ZLLM_INIT(zllm_error);
  ASSERT_EQ(zllm_submit(engine, "chat", kBody, std::strlen(kBody), &answer, &error), ZLLM_OK);
  zllm_engine_free(engine);  // the answer goes on
  EXPECT_EQ(zllm_answer_is_stream(answer), 1);
  const auto items = items_of(answer);
  ASSERT_GT(items.size(), 2u);
  EXPECT_EQ(items.back(), "[DONE]");
  EXPECT_EQ(zllm_answer_http_status(answer), 200);
  zllm_answer_free(answer);
}

TEST(CLibrary, ARefusedRequestIsAnAnswerWithTheDialectsError) {
  zllm_engine *engine = engine_of("Hello");
  zllm_answer *answer = nullptr;
  ASSERT_EQ(zllm_submit(engine, "chat", "{", 1, &answer, nullptr), ZLLM_OK);
  const auto items = items_of(answer);
  ASSERT_EQ(items.size(), 1u);
  EXPECT_NE(items[0].find("\"error\""), std::string::npos);
  EXPECT_EQ(zllm_answer_http_status(answer), 400);
  zllm_answer_free(answer);
  zllm_engine_free(engine);
}

TEST(CLibrary, TokenizesIntoBuffersOfTheCaller) {
  zllm_engine *engine = engine_of("Hello");
  const std::string text = "<|im_end|> and more";
  std::size_t count = 0;
  zllm_error error = ZLLM_INIT(zllm_error);
  EXPECT_EQ(zllm_tokenize(engine, text.data(), text.size(), ZLLM_PARSE_SPECIAL, nullptr, 0, &count,
                          &error),
            ZLLM_ERROR_BUFFER);
  std::vector<int32_t> tokens(count);
  ASSERT_EQ(zllm_tokenize(engine, text.data(), text.size(), ZLLM_PARSE_SPECIAL, tokens.data(),
                          tokens.size(), &count, &error),
            ZLLM_OK);
  std::string back(64, '\0');
  std::size_t size = 0;
  ASSERT_EQ(zllm_detokenize(engine, tokens.data(), count, back.data(), back.size(), &size, &error),
            ZLLM_OK);
  EXPECT_EQ(back.substr(0, size), text);
  const int32_t unknown = -5;
  EXPECT_EQ(zllm_detokenize(engine, &unknown, 1, back.data(), back.size(), &size, &error),
            ZLLM_ERROR_INVALID);
  EXPECT_EQ(std::string(error.field), "tokens");
  std::uint64_t prompt = 0;
  EXPECT_EQ(zllm_count_tokens(engine, "chat", kBody, std::strlen(kBody), &prompt, &error), ZLLM_OK);
  EXPECT_GT(prompt, 0u);
  zllm_engine_info info = ZLLM_INIT(zllm_engine_info);
  EXPECT_EQ(zllm_engine_describe(engine, &info, &error), ZLLM_OK);
  EXPECT_EQ(info.context, testing::ScriptedModel::kContext);
  EXPECT_EQ(info.has_chat_template, 1u);
  zllm_engine_free(engine);
}

TEST(CLibrary, ManyThreadsShareAnEngineAndAnotherThreadCancels) {
  zllm_engine *engine = engine_of("The very same words for all of them");
  std::vector<std::vector<std::string>> told(8);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < told.size(); ++i) {
      threads.emplace_back([engine, i, &told] {
        const std::string body =
            R"({"model":"m","messages":[{"role":"user","content":"Hi"}],"temperature":0})";
        zllm_answer *answer = nullptr;
        ASSERT_EQ(zllm_submit(engine, "chat", body.data(), body.size(), &answer, nullptr), ZLLM_OK);
        told[i] = items_of(answer);
        zllm_answer_free(answer);
      });
    }
  }
  for (const auto& items : told) {
    ASSERT_EQ(items.size(), 1u);
    EXPECT_NE(items[0].find("The very same words for all of them"), std::string::npos);
  }
  zllm_answer *answer = nullptr;
  ASSERT_EQ(zllm_submit(engine, "chat", kBody, std::strlen(kBody), &answer, nullptr), ZLLM_OK);
  std::jthread([answer] { zllm_answer_cancel(answer); }).join();
  items_of(answer);
  zllm_answer_free(answer);
  zllm_engine_free(engine);
}

}  // namespace
}  // namespace zllm::c
