#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <zllm/dialect/json_writer.h>
#include <zllm/embedded/event.h>

namespace zllm::dialect::completions {

// The member "logprobs" of one piece of an answer: parallel arrays over its tokens. A token that is
// not whole UTF-8 is spelled "bytes:\xNN..." as OpenAI's API does.
class TokenScores {
 public:
  // offset: characters of the choice's text before the token; moved on past it.
  void add(const ScoredToken& scored, std::uint64_t& offset);
  void write(JsonWriter& json) const;

 private:
  // JSON texts of elements.
  std::vector<std::string> tokens_, log_probabilities_, top_, offsets_;
};

}  // namespace zllm::dialect::completions
