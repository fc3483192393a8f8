#pragma once

#include <string_view>
#include <vector>

#include <zllm/text/tokenizer.h>

namespace zllm::text {

// Tokens of UTF-8 text in the midst of an answer, which spell exactly its bytes; none where the
// tokenizer has no such tokens.
std::vector<TokenId> exact_tokens(const Tokenizer& tokenizer, std::string_view text,
                                  bool parse_special = false);

}  // namespace zllm::text
