#pragma once

#include <optional>
#include <string>

#include <zllm/base/json.h>
#include <zllm/base/result.h>
#include <zllm/text/tokenizer.h>

namespace zllm::text {

// The tokenizer's files of a Hub-layout folder: tokenizer.json, and where they exist
// tokenizer_config.json and chat_template.jinja. Needs no weights and no config.json.
struct TokenizerFiles {
  Tokenizer tokenizer;
  Json config;                               // tokenizer_config.json, or null
  std::optional<std::string> chat_template;  // chat_template.jinja, else the configuration's own
  std::optional<std::string> bos_token;      // their spellings, for templates
  std::optional<std::string> eos_token;
};

// Errors name the file.
Result<TokenizerFiles> load_tokenizer_files(const std::string& folder);

}  // namespace zllm::text
