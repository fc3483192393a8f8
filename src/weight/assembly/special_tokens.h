#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <zllm/base/json.h>
#include <zllm/base/result.h>
#include <zllm/base/strong.h>
#include <zllm/weight/container/gguf_metadata.h>

namespace zllm::weight {

struct SpecialTokens {
  std::vector<TokenId> end;  // without repetition, in the file's order
  std::optional<TokenId> begin;
};

// Begin and end ids of a Hub folder: those of generation_config.json, where it states them, else
// those of config.json. A begin or end id beyond the vocabulary is an error that names the key;
// any other special id only adds a warning. generation_config may be null.
Result<SpecialTokens> special_tokens_from_config(const Json& config, const Json *generation_config,
                                                 std::uint64_t vocabulary,
                                                 std::vector<std::string>& warnings);

// The same for tokenizer.ggml.*_token_id. A turn's end (eot) ends an answer too.
Result<SpecialTokens> special_tokens_from_metadata(const GgufMetadata& metadata,
                                                   std::uint64_t vocabulary,
                                                   std::vector<std::string>& warnings);

}  // namespace zllm::weight
