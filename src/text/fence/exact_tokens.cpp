#include <zllm/text/fence/exact_tokens.h>

#include <string>

#include <zllm/base/utf8.h>

namespace zllm::text {
namespace {

// A character that no token shares with others: what a tokenizer puts before a text goes before it.
constexpr char kSentinel = '\x01';

}  // namespace

std::vector<TokenId> exact_tokens(const Tokenizer& tokenizer, std::string_view text,
                                  bool parse_special) {
  const bool starts_texts = tokenizer.leading_spaces() > 0;
  std::string whole = starts_texts ? std::string(1, kSentinel) : std::string();
  whole += text;
  if (!is_valid_utf8(text)) {
    return {};
  }
  Result<std::vector<TokenId>> encoded = tokenizer.encode(whole, {.parse_special = parse_special});
  if (!encoded.ok()) {
    return {};
  }
  std::vector<TokenId>& ids = *encoded;
  if (starts_texts) {
    std::size_t start = 0;
    while (start < ids.size() && !tokenizer.token_bytes(ids[start]).ends_with(kSentinel)) {
      ++start;
    }
    ids.erase(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(
                                             start < ids.size() ? start + 1 : ids.size()));
  }
  std::string spelled;
  for (const TokenId id : ids) {
    spelled += tokenizer.token_bytes(id);
  }
  return spelled == text ? std::move(ids) : std::vector<TokenId>();
}

}  // namespace zllm::text
