#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <zllm/base/check.h>
#include <zllm/base/text_file.h>
#include <zllm/base/utf8.h>
#include <zllm/text/fence/fence_factory.h>

namespace {

using zllm::text::Constraint;
using zllm::text::ConstraintKind;

struct Fences {
  zllm::text::Tokenizer tokenizer;
  zllm::text::FenceFactory factory;
  zllm::TokenId end;
};

// A small vocabulary is enough: what is fuzzed is what users write.
Fences make_fences() {
  auto json = zllm::read_text_file("test/fixtures/text/byte_level.tokenizer.json");
  ZLLM_CHECK(json.ok(), "the tokenizer; run the fuzzer from the root of the repository");
  auto tokenizer = zllm::text::Tokenizer::from_json(*json);
  ZLLM_CHECK(tokenizer.ok(), "the fuzzer's tokenizer");
  const auto end = tokenizer->id_of("<|im_end|>");
  ZLLM_CHECK(end.has_value(), "the fuzzer's end token");
  auto factory = zllm::text::FenceFactory::create(*tokenizer, {*end});
  ZLLM_CHECK(factory.ok(), "the fuzzer's fences");
  return {.tokenizer = *tokenizer, .factory = *std::move(factory), .end = *end};
}

}  // namespace

// The first byte is the kind of the constraint. What is accepted gives masks and goes on by a token
// that its mask allows.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  static const Fences fences = make_fences();
  if (size == 0) {
    return 0;
  }
  constexpr ConstraintKind kKinds[] = {ConstraintKind::json_schema, ConstraintKind::regex,
                                       ConstraintKind::lark, ConstraintKind::gbnf};
  const std::string source(reinterpret_cast<const char *>(data) + 1, size - 1);
  if (!zllm::is_valid_utf8(source)) {
    return 0;
  }
  auto fence = fences.factory.make({.constraint = Constraint{kKinds[data[0] % 4], source}});
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
    for (std::size_t token = 0; token < fences.tokenizer.vocabulary_size() && chosen < 0; ++token) {
      const bool is_allowed = ((*mask)[token / 32] >> (token % 32) & 1U) != 0;
      if (is_allowed && static_cast<zllm::TokenId>(token) != fences.end) {
        chosen = static_cast<zllm::TokenId>(token);
      }
    }
    if (chosen < 0) {
      break;
    }
    ZLLM_CHECK((*fence)->advance(chosen).ok(), "a token that the mask allows is refused");
  }
  return 0;
}
