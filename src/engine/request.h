#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <zllm/base/strong.h>
#include <zllm/engine/fence/fence.h>
#include <zllm/sampling/parameters.h>

namespace zllm::engine {

using Clock = std::chrono::steady_clock;

// What the loop is asked: token ids in, events (event.h) out.
struct Request {
  std::vector<TokenId> prompt;  // at least one
  sampling::SamplingParameters sampling;
  std::uint32_t choices = 1;     // answers to the prompt, each with its own randomness
  std::uint64_t max_tokens = 0;  // of each answer, at least 1; cut to what the context holds
  std::uint64_t min_tokens = 0;  // end tokens are banned before
  std::vector<TokenId> end_tokens = {};  // end an answer and are not part of it; empty = none does
  std::size_t vocabulary = 0;            // ids that the tokenizer knows; 0 = all of the model's
  std::unique_ptr<Fence> fence = {};     // of every answer: each gets a clone
  // Log-probabilities of every chosen token, with so many alternatives; nothing = none.
  std::optional<std::uint32_t> top_log_probabilities = {};
  // Also of every token of the prompt but the first. Such a request reads no cached prefix.
  bool wants_prompt_log_probabilities = false;
  std::string caller = {};    // who asks: requests of one caller are served in order
  std::int32_t priority = 0;  // higher first, across callers
  std::optional<Clock::time_point> deadline = {};  // the request fails when it is not done by then
  bool reads_cache = true;                         // may start from a cached prefix
  bool writes_cache = true;                        // leaves its prefix for others
};

}  // namespace zllm::engine
