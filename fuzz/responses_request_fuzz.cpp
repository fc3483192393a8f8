#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include <zllm/base/check.h>
#include <zllm/base/json.h>
#include <zllm/dialect/responses/responses.h>
#include <zllm/dialect/responses/responses_routes.h>

// Whatever the body: a request whose response is JSON and can be gone on from, or a failure with a
// sentence.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  using namespace zllm;
  namespace responses = dialect::responses;
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  const auto body = Json::parse(text, "body");
  if (!body.ok()) {
    return 0;
  }
  const auto store = std::make_shared<responses::ResponseStore>(responses::StoreLimits{});
  // The second time, what the body refers to may be there.
  for (int turn = 0; turn < 2; ++turn) {
    auto read = responses::read(*body, {.unique = "u", .created = 1, .model = "m"}, "", store);
    if (!read.ok()) {
      ZLLM_CHECK(!read.error().message.empty(), "a failure without a message");
      return 0;
    }
    dialect::Encoder& encoder = *read->exchange.encoder;
    encoder.collect({.what = Started{}});
    encoder.collect({.what = ContentDelta{"a"}});
    encoder.collect({.what = ChoiceEnded{}});
    encoder.collect({.what = Ended{}});
    ZLLM_CHECK(Json::parse(encoder.body(), "answer").ok(), "an answer that is no JSON");
    if (const auto stored = store->get("", read->id); stored.has_value()) {
      ZLLM_CHECK(Json::parse(*responses::input_items_body(*stored, {}), "items").ok(),
                 "input items that are no JSON");
    }
  }
  return 0;
}
