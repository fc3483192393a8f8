#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include <zllm/base/check.h>
#include <zllm/base/json.h>
#include <zllm/dialect/chat/chat.h>
#include <zllm/dialect/completions/completions.h>

namespace {

using zllm::Json;

void check_failure(const zllm::Failure& failure) {
  ZLLM_CHECK(!failure.message.empty(), "a failure without a message");
  const std::string body = zllm::dialect::chat::error_body(failure);
  ZLLM_CHECK(Json::parse(body, "error").ok(), "an error body that is not JSON");
}

// What was read must be within the limits that the API states.
void check_request(const zllm::Request& request) {
  ZLLM_CHECK(request.choices >= 1 && request.choices <= 128, "choices beyond their limit");
  ZLLM_CHECK(request.candidates == 0 || request.candidates > request.choices,
             "fewer candidates than choices");
  ZLLM_CHECK(request.caller.empty(), "a caller that the body names");
  const double temperature = request.sampling.temperature.value_or(1);
  ZLLM_CHECK(temperature >= 0 && temperature <= 2, "a temperature beyond its limits");
  if (!request.format.source.empty() && request.format.kind == zllm::FormatKind::json_schema) {
    ZLLM_CHECK(Json::parse(request.format.source, "schema").ok(), "a schema that is not JSON");
  }
}

bool same(const zllm::Request& a, const zllm::Request& b) {
  const auto *left = std::get_if<zllm::Conversation>(&a.input);
  const auto *right = std::get_if<zllm::Conversation>(&b.input);
  return left != nullptr && right != nullptr && left->messages.size() == right->messages.size() &&
         left->tools.size() == right->tools.size() &&
         left->template_arguments == right->template_arguments && a.format.kind == b.format.kind &&
         a.format.source == b.format.source && a.choices == b.choices &&
         a.max_tokens == b.max_tokens && a.stop == b.stop && a.sampling.seed == b.sampling.seed &&
         a.sampling.logit_bias == b.sampling.logit_bias;
}

}  // namespace

// Whatever the text: a failure with a message, or a request within its limits, the same when the
// body is written again and read.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const auto json =
      Json::parse(std::string_view(reinterpret_cast<const char *>(data), size), "body");
  if (!json.ok()) {
    return 0;
  }
  auto chat = zllm::dialect::chat::read(*json, {});
  if (chat.ok()) {
    check_request(chat->request);
    const auto again = Json::parse(json->dump(), "body again");
    ZLLM_CHECK(again.ok(), "a body that cannot be written again");
    auto second = zllm::dialect::chat::read(*again, {});
    ZLLM_CHECK(second.ok() && same(chat->request, second->request), "a reading that changes");
  } else {
    check_failure(chat.error());
  }
  auto batch = zllm::dialect::completions::read(*json, {});
  if (batch.ok()) {
    ZLLM_CHECK(!batch->requests.empty(), "a batch of none");
    for (const zllm::Request& request : batch->requests) {
      check_request(request);
    }
  } else {
    check_failure(batch.error());
  }
  return 0;
}
