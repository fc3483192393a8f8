#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/embedded/engine.h>

#include "signals.h"

namespace zllm::cli {

struct GivenAnswer {
  std::string text;
  std::vector<TokenId> tokens;  // where the request asks for log-probabilities
  StopReason reason = StopReason::end;
  bool is_context_full = false;
  std::uint64_t prompt_tokens = 0;
  std::uint64_t cached_tokens = 0;
  AnswerTimings timings;
};

// Takes text as it comes; every piece is valid UTF-8. An error ends the answer.
using TextSink = std::function<Status(std::string_view)>;

// Asks for one answer and waits for its end. A signal that is noted ends it, as cancelled. A prompt
// that does not fit the context is resource_exhausted, with both counts.
Result<GivenAnswer> answer(Engine& engine, const Request& request, const NotedSignals& signals,
                           const TextSink& sink);

// What the engine refuses as the programs tell it.
template <class T>
Result<T> result_of(Outcome<T> outcome) {
  if (!outcome.ok()) {
    return Error{Code::invalid_argument, std::move(outcome).error().message};
  }
  return *std::move(outcome);
}

}  // namespace zllm::cli
