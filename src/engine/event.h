#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/base/strong.h>
#include <zllm/sampling/log_probabilities.h>

namespace zllm::engine {

enum class FinishReason : std::uint8_t {
  end_token,
  length,     // max_tokens or the context is reached
  cancelled,  // as asked
};

// The prompt is computed.
struct PromptRead {
  std::uint64_t prompt_tokens = 0;
  std::uint64_t cached_tokens = 0;  // of them, from a cached prefix
  // Of prompt tokens 1, 2, ... where asked for.
  std::vector<sampling::LogProbabilities> log_probabilities = {};
};

struct TokenChosen {
  std::uint32_t choice = 0;
  TokenId token = 0;
  bool is_forced = false;  // by the fence, without sampling
  std::optional<sampling::LogProbabilities> log_probabilities = {};
};

struct ChoiceFinished {
  std::uint32_t choice = 0;
  FinishReason reason = FinishReason::length;
  std::optional<TokenId> end_token = {};
};

// Seconds since the request was submitted, unless they say otherwise.
struct Timings {
  double queue_seconds = 0;    // until its first round began
  double prefill_seconds = 0;  // from there until the prompt was computed
  double decode_seconds = 0;   // from there to the end
};

enum class FailureKind : std::uint8_t {
  failed,     // the model or a fence failed: error says how
  deadline,   // not done by its deadline
  shut_down,  // the loop ended first
  no_memory,  // needs more pages than there are in all
};

struct Failed {
  FailureKind kind = FailureKind::failed;
  Error error;
};

// The last event. Cancelled requests end without a failure: each choice was finished as cancelled.
struct Ended {
  std::optional<Failed> failure = {};
  Timings timings;
  std::uint32_t preemptions = 0;
};

// In order: PromptRead, then TokenChosen of all choices mixed, ChoiceFinished once a choice, Ended.
// A failure may come at any place and skips the rest.
using Event = std::variant<PromptRead, TokenChosen, ChoiceFinished, Ended>;

}  // namespace zllm::engine
