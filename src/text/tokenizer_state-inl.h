#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <zllm/edge/tokenizer.h>
#include <zllm/text/tokenizer.h>

// What a Tokenizer holds; for the sources of this region alone, since it needs the edge.
namespace zllm::text {

struct Tokenizer::Core {
  edge::Tokenizer tokenizer;
  edge::TokenTables tables;

  unsigned flags_of(TokenId id) const {
    const auto index = static_cast<std::size_t>(id);
    return id >= 0 && index < tables.flags.size() ? static_cast<unsigned char>(tables.flags[index])
                                                  : 0U;
  }
};

struct Tokenizer::State {
  std::shared_ptr<const Core> core;
  std::vector<TokenId> begin;
  std::optional<TokenId> begin_of_sequence;
  std::vector<TokenId> end_tokens;
  std::vector<std::string> warnings;
};

}  // namespace zllm::text
