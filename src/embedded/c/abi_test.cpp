#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>

#include <zllm/embedded/c/struct_copy.h>
#include <zllm/embedded/c/zllm.h>

namespace {

// Where every field lies for 64-bit callers. A field may be added at an end, never moved.
static_assert(sizeof(void *) == 8);
static_assert(sizeof(zllm_error) == 2320);
static_assert(offsetof(zllm_error, code) == 8 && offsetof(zllm_error, http_status) == 12);
static_assert(offsetof(zllm_error, field) == 16 && offsetof(zllm_error, message) == 272);

static_assert(sizeof(zllm_item) == 40);
static_assert(offsetof(zllm_item, event) == 8 && offsetof(zllm_item, event_size) == 16);
static_assert(offsetof(zllm_item, data) == 24 && offsetof(zllm_item, data_size) == 32);

static_assert(sizeof(zllm_engine_info) == 72);
static_assert(offsetof(zllm_engine_info, architecture) == 8);
static_assert(offsetof(zllm_engine_info, parameters) == 32);
static_assert(offsetof(zllm_engine_info, vocabulary) == 56);
static_assert(offsetof(zllm_engine_info, has_chat_template) == 64);

static_assert(sizeof(zllm_engine_options) == 128);
static_assert(offsetof(zllm_engine_options, model) == 8);
static_assert(offsetof(zllm_engine_options, prefix_cache_folder) == 48);
static_assert(offsetof(zllm_engine_options, context) == 56);
static_assert(offsetof(zllm_engine_options, queue_length) == 104);
static_assert(offsetof(zllm_engine_options, threads) == 112);
static_assert(offsetof(zllm_engine_options, no_prefix_cache) == 120);

static_assert(std::is_same_v<zllm_status, int32_t>);
static_assert(ZLLM_ERROR_INVALID == -1 && ZLLM_ERROR_BUFFER == -11);

TEST(CLibrary, TellsItsVersions) {
  EXPECT_EQ(zllm_abi_version(), static_cast<uint32_t>(ZLLM_ABI_VERSION));
  EXPECT_NE(std::string(zllm_version()), "");
}

TEST(CLibrary, LoadErrorsHaveCodeFieldAndText) {
  zllm_error error = ZLLM_INIT(zllm_error);
  zllm_engine *engine = nullptr;
  EXPECT_EQ(zllm_engine_load(nullptr, &engine, &error), ZLLM_ERROR_INVALID);
  EXPECT_EQ(std::string(error.field), "options");
  zllm_engine_options options = ZLLM_INIT(zllm_engine_options);
  EXPECT_EQ(zllm_engine_load(&options, &engine, &error), ZLLM_ERROR_INVALID);
  EXPECT_EQ(std::string(error.field), "model");
  options.model = "no/such/model.gguf";
  EXPECT_LT(zllm_engine_load(&options, &engine, &error), 0);
  EXPECT_NE(std::string(error.message).find("no/such/model.gguf"), std::string::npos);
  EXPECT_LT(zllm_engine_load(&options, &engine, nullptr), 0);
  EXPECT_EQ(engine, nullptr);
}

TEST(CLibrary, NullHandlesAreRefusedNotFollowed) {
  zllm_item item = ZLLM_INIT(zllm_item);
  std::size_t count = 0;
  zllm_engine_free(nullptr);
  zllm_answer_free(nullptr);
  zllm_answer_cancel(nullptr);
  EXPECT_EQ(zllm_answer_next(nullptr, 0, &item, nullptr), ZLLM_ERROR_INVALID);
  EXPECT_EQ(zllm_answer_is_stream(nullptr), 0);
  EXPECT_EQ(zllm_answer_http_status(nullptr), 0);
  EXPECT_EQ(zllm_submit(nullptr, "chat", "{}", 2, nullptr, nullptr), ZLLM_ERROR_INVALID);
  EXPECT_EQ(zllm_tokenize(nullptr, "a", 1, 0, nullptr, 0, &count, nullptr), ZLLM_ERROR_INVALID);
}

TEST(StructCopy, OlderCallersGetWhatTheyKnow) {
  zllm_error error{};
  error.size = offsetof(zllm_error, message);
  std::strcpy(error.message, "untouched");
  zllm::c::tell(zllm::Failure(zllm::FailureKind::busy, "text", "field"), &error);
  EXPECT_EQ(error.code, ZLLM_ERROR_BUSY);
  EXPECT_EQ(error.http_status, 429);
  EXPECT_EQ(std::string(error.field), "field");
  EXPECT_EQ(std::string(error.message), "untouched");
  EXPECT_EQ(error.size, offsetof(zllm_error, message));
}

TEST(StructCopy, FieldsThatACallerHasNotYetAreZero) {
  zllm_engine_options options = ZLLM_INIT(zllm_engine_options);
  options.context = 7;
  options.threads = 9;
  options.size = offsetof(zllm_engine_options, threads);
  const zllm_engine_options whole = zllm::c::taken(&options);
  EXPECT_EQ(whole.context, 7u);
  EXPECT_EQ(whole.threads, 0u);
}

TEST(StructCopy, LongTextIsCutAtACharacter) {
  zllm_error error = ZLLM_INIT(zllm_error);
  std::string text;
  while (text.size() < 2 * sizeof(error.message)) {
    text += "\xe2\x82\xac";
  }
  zllm::c::tell(zllm::Failure(zllm::FailureKind::internal, text), &error);
  const std::string told = error.message;
  EXPECT_EQ(told.size() % 3, 0u);
  EXPECT_EQ(told, text.substr(0, told.size()));
  EXPECT_GT(told.size() + 3, sizeof(error.message) - 1);
}

}  // namespace
