#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <zllm/base/check.h>
#include <zllm/base/utf8.h>
#include <zllm/text/fence/fence_factory.h>

namespace {

using zllm::text::Constraint;
using zllm::text::ConstraintKind;

// A vocabulary of bytes is enough: what is fuzzed is what users write.
zllm::text::FenceFactory make_factory() {
  std::string json =
      R"({"model":{"type":"BPE","merges":[],"byte_fallback":true,"vocab":{"<unk>":0,)"
      R"("</s>":1)";
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (unsigned byte = 0; byte < 256; ++byte) {
    json += ",\"<0x";
    json += kDigits[byte / 16];
    json += kDigits[byte % 16];
    json += ">\":" + std::to_string(byte + 2);
  }
  json += R"(}},"added_tokens":[{"id":1,"content":"</s>","special":true}],)"
          R"("decoder":{"type":"ByteFallback"}})";
  auto tokenizer = zllm::text::Tokenizer::from_json(json);
  ZLLM_CHECK(tokenizer.ok(), "the fuzzer's tokenizer");
  auto factory = zllm::text::FenceFactory::create(*tokenizer, {1});
  ZLLM_CHECK(factory.ok(), "the fuzzer's fences");
  return *std::move(factory);
}

}  // namespace

// The first byte is the kind of the constraint. What is accepted gives masks and goes on by a token
// that its mask allows.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  static const zllm::text::FenceFactory factory = make_factory();
  if (size == 0) {
    return 0;
  }
  constexpr ConstraintKind kKinds[] = {ConstraintKind::json_schema, ConstraintKind::regex,
                                       ConstraintKind::lark, ConstraintKind::gbnf};
  const std::string source(reinterpret_cast<const char *>(data) + 1, size - 1);
  if (!zllm::is_valid_utf8(source)) {
    return 0;
  }
  auto fence = factory.make({.constraint = Constraint{kKinds[data[0] % 4], source}});
  if (!fence.ok()) {
    ZLLM_CHECK(!fence.error().message.empty(), "a refusal without a reason");
    return 0;
  }
  for (int step = 0; step < 8 && *fence != nullptr && !(*fence)->is_finished(); ++step) {
    const auto mask = (*fence)->mask();
    if (!mask.ok() || mask->empty()) {
      break;
    }
    zllm::TokenId chosen = -1;
    for (zllm::TokenId token = 2; token < 258 && chosen < 0; ++token) {
      const auto index = static_cast<std::size_t>(token);
      if (((*mask)[index / 32] >> (index % 32) & 1U) != 0) {
        chosen = token;
      }
    }
    if (chosen < 0) {
      break;
    }
    ZLLM_CHECK((*fence)->advance(chosen).ok(), "a token that the mask allows is refused");
  }
  return 0;
}
