#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/base/strong.h>

namespace zllm::commands {

// "1,2,3" as ids.
Result<std::vector<TokenId>> parse_token_list(std::string_view text);
// A file that holds a JSON array of ids, or of arrays of ids.
Result<std::vector<TokenId>> read_tokens(const std::string& path);
Result<std::vector<std::vector<TokenId>>> read_token_sequences(const std::string& path);

}  // namespace zllm::commands
