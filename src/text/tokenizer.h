#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/base/strong.h>
#include <zllm/text/gguf_vocabulary.h>

namespace zllm::text {

// Longest text that is tokenized at once; its working copy takes about 30 times as much memory.
constexpr std::size_t kMaxTextBytes = std::size_t{64} << 20;

struct EncodeOptions {
  // Control tokens spelled out in the text become these tokens. Off: whatever a user types stays
  // text.
  bool parse_special = false;
  // The model's begin tokens come first, unless the text already makes them.
  bool add_begin = false;
  // Falls away from the text once control tokens have been found in it: one that it stands within
  // stays text.
  std::string_view mark = {};
};

struct DecodeOptions {
  bool skip_special = false;
};

// A vocabulary with the way from text to its ids and back. Immutable once set up and thread-safe;
// cheap to copy, copies share their state.
class Tokenizer {
 public:
  // From the bytes of a Hugging Face tokenizer.json: ids are those of the `tokenizers` library.
  static Result<Tokenizer> from_json(std::string_view json);
  // From the entries of a GGUF file. Entries that contradict each other are refused, as are
  // byte-level vocabularies whose pre-tokenizer is absent or unknown.
  static Result<Tokenizer> from_gguf(const GgufVocabulary& vocabulary);

  // Text must be valid UTF-8 of at most kMaxTextBytes.
  Result<std::vector<TokenId>> encode(std::string_view text, EncodeOptions options = {}) const;
  // Puts the model's begin tokens first unless ids begin with them; how many it put.
  std::size_t begin(std::vector<TokenId>& ids) const;
  // A rendered prompt: control tokens are parsed, and it begins exactly once.
  Result<std::vector<TokenId>> encode_prompt(std::string_view rendered) const;
  // Valid UTF-8: bytes that are none become U+FFFD. Refuses ids that are not in the vocabulary.
  Result<std::string> decode(std::span<const TokenId> ids, DecodeOptions options = {}) const;

  // One more than the largest id.
  std::size_t vocabulary_size() const;
  bool is_known(TokenId id) const;
  // Control tokens: never made from plain text.
  bool is_special(TokenId id) const;
  // Spellings of all control tokens.
  std::vector<std::string> special_spellings() const;
  // What the token stands for, not always whole characters; empty for ids that are not known.
  std::string_view token_bytes(TokenId id) const;
  // Spaces at most that fall away at the start of a whole text.
  std::size_t leading_spaces() const;
  // The token of this spelling in the vocabulary.
  std::optional<TokenId> id_of(std::string_view token) const;

  // What comes before every prompt; empty for models that want nothing.
  std::span<const TokenId> begin_tokens() const;
  std::optional<TokenId> begin_of_sequence() const;
  // Tokens that end an answer, as far as the tokenizer's own entries tell.
  std::span<const TokenId> end_tokens() const;
  // What was odd about the vocabulary, a sentence each.
  std::span<const std::string> warnings() const;

  // For loaders: what tokenizer_config.json says over tokenizer.json.
  Tokenizer with_begin(std::optional<TokenId> begin, bool add) const;
  Tokenizer with_end_tokens(std::vector<TokenId> end_tokens) const;

 private:
  struct Core;
  struct State;
  explicit Tokenizer(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace zllm::text
