#pragma once

#include <string>
#include <utility>

#include <zllm/text/tokenizer.h>

namespace zllm::text {

// Turns ids into text one at a time. Every piece is valid UTF-8; bytes of a character that is not
// complete yet are kept back. All pieces together are what decode gives for all ids.
class Detokenizer {
 public:
  enum class Start {
    text,          // the ids are a text of their own: its leading space falls away as in decode
    continuation,  // the ids go on after a prompt: nothing falls away
  };

  explicit Detokenizer(Tokenizer tokenizer, Start start = Start::continuation,
                       DecodeOptions options = {});

  // The text that this id completes, possibly none. Ids that are not known add nothing.
  std::string add(TokenId id);
  // The end: an incomplete character becomes U+FFFD. Ready for the next text.
  std::string flush();

 private:
  std::size_t leading_at_start() const;

  Tokenizer tokenizer_;
  Start start_;
  DecodeOptions options_;
  std::size_t leading_ = 0;  // spaces that may still fall away
  std::string pending_;      // the beginning of a character
};

}  // namespace zllm::text
