#pragma once

#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <zllm/base/utf8.h>
#include <zllm/text/fence/fence_factory.h>
#include <zllm/text/fence/token_set.h>

// For the tests of this region alone: small vocabularies and answers at random within a fence.
namespace zllm::text::testing {

inline Tokenizer small_tokenizer(const std::string& name) {
  std::ifstream file("test/fixtures/text/" + name + ".tokenizer.json", std::ios::binary);
  const std::string json{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return *Tokenizer::from_json(json);
}

inline FenceFactory factory_of(const Tokenizer& tokenizer, const std::vector<std::string>& ends) {
  std::vector<TokenId> ids;
  for (const std::string& end : ends) {
    ids.push_back(*tokenizer.id_of(end));
  }
  return *FenceFactory::create(tokenizer, ids);
}

struct Walk {
  std::vector<TokenId> tokens = {};
  std::string text = {};
  bool has_ended = false;
};

// Random tokens that the mask allows until an end token comes; `closers` are preferred late, so
// that walks end.
inline Walk walk(engine::Fence& fence, const Tokenizer& tokenizer, std::mt19937& random,
                 std::size_t limit = 300) {
  const std::string closers = "\"}]";
  Walk out;
  while (out.tokens.size() < limit) {
    const Result<std::span<const std::uint32_t>> mask = fence.mask();
    if (!mask.ok()) {
      break;
    }
    std::vector<TokenId> allowed;
    std::vector<TokenId> preferred;
    for (TokenId id = 0; id < static_cast<TokenId>(tokenizer.vocabulary_size()); ++id) {
      if (mask->empty() || has_token(*mask, id)) {
        allowed.push_back(id);
        const std::string_view bytes = tokenizer.token_bytes(id);
        if (tokenizer.is_special(id) || (!bytes.empty() && closers.find(bytes) < closers.size())) {
          preferred.push_back(id);
        }
      }
    }
    if (allowed.empty()) {
      break;
    }
    const bool hurries = !preferred.empty() && (out.tokens.size() > 30 || random() % 4 == 0);
    const std::vector<TokenId>& choice = hurries ? preferred : allowed;
    const TokenId token = choice[random() % choice.size()];
    if (!fence.advance(token).ok()) {
      out.has_ended = tokenizer.is_special(token);
      break;
    }
    out.tokens.push_back(token);
    out.text += tokenizer.token_bytes(token);
  }
  return out;
}

// Advances by the text in the tokenizer's own tokens, or a character at a time.
inline Status advance_by(engine::Fence& fence, const Tokenizer& tokenizer, std::string_view text,
                         bool by_bytes = false) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = by_bytes ? utf8_sequence_length(text.substr(i)) : text.size();
    const Result<std::vector<TokenId>> ids =
        tokenizer.encode(text.substr(i, length), {.parse_special = !by_bytes});
    for (const TokenId id : *ids) {
      ZLLM_TRY(fence.advance(id));
    }
    i += length;
  }
  return {};
}

inline bool may_end(engine::Fence& fence, TokenId end) {
  const Result<std::span<const std::uint32_t>> mask = fence.mask();
  return mask.ok() && (mask->empty() || has_token(*mask, end));
}

}  // namespace zllm::text::testing
