#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/base/strong.h>
#include <zllm/edge/edge.h>

namespace zllm::edge {

// For every id of a vocabulary the bytes that it stands for and its EdgeTokenFlags.
struct TokenTables {
  std::string bytes;
  std::vector<std::uint32_t> ends;
  std::string flags;
  std::uint32_t leading_spaces = 0;
};

// Owner of a tokenizer of rust/edge. Thread-safe; movable.
class Tokenizer {
 public:
  // From the bytes of a Hugging Face tokenizer.json.
  static Result<Tokenizer> from_json(std::string_view json);
  static Result<Tokenizer> from_vocabulary(const EdgeVocabulary& vocabulary);

  // Ids of UTF-8 text, nothing put before or after. A mark that is not empty falls away from the
  // text once control tokens have been found in it.
  Result<std::vector<TokenId>> encode(std::string_view text, bool parse_special,
                                      std::string_view mark = {}) const;
  Result<TokenId> id_of(std::string_view token) const;
  Result<std::vector<TokenId>> begin_tokens() const;
  Result<TokenTables> tables() const;

 private:
  struct Free {
    void operator()(EdgeTokenizer *tokenizer) const;
  };
  explicit Tokenizer(EdgeTokenizer *raw) : raw_(raw) {}
  std::unique_ptr<EdgeTokenizer, Free> raw_;
};

}  // namespace zllm::edge
