#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/base/strong.h>

#include "model_options.h"

namespace zllm::commands {

// zllm logits: the logits of every row of given token sequences, written as safetensors.
struct LogitsOptions {
  ModelOptions model;
  std::string tokens;          // "1,2,3"
  std::string tokens_file;     // JSON array of ids
  std::string sequences_file;  // JSON array of such arrays, run in shared rounds
  std::string out;
  std::optional<std::uint64_t> append_at;    // rows from here on as Append Prefill
  std::optional<std::uint64_t> decode_from;  // rows from here on one by one
  std::uint64_t greedy = 0;                  // tokens by argmax after the prompt
};

Status run_logits(const LogitsOptions& options);

}  // namespace zllm::commands
