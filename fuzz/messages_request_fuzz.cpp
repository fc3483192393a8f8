#include <cstddef>
#include <cstdint>
#include <string_view>

#include <zllm/base/check.h>
#include <zllm/base/json.h>
#include <zllm/dialect/anthropic/messages.h>

// Whatever the body: a request, or a failure with a sentence that becomes JSON.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  using namespace zllm;
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  const auto body = Json::parse(text, "body");
  if (!body.ok()) {
    return 0;
  }
  auto exchange = dialect::anthropic::read(*body, {.unique = "u", .created = 1, .model = "m"});
  if (exchange.ok()) {
    exchange->encoder->collect({.what = Ended{}});
    ZLLM_CHECK(Json::parse(exchange->encoder->body(), "answer").ok(), "an answer that is no JSON");
  } else {
    const Failure& failure = exchange.error();
    ZLLM_CHECK(!failure.message.empty(), "a failure without a message");
    ZLLM_CHECK(Json::parse(dialect::anthropic::error_body(failure, ""), "error").ok(),
               "an error that is no JSON");
  }
  static_cast<void>(dialect::anthropic::read_count(*body).ok());
  return 0;
}
