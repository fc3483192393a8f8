#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/engine/generation.h>

#include "loaded_model.h"
#include "signals.h"

namespace zllm::cli {

struct Answer {
  std::string text;
  std::string finish_reason;  // "stop", "length" or "cancelled"
  engine::Generation generation;
};

// Takes text as it comes; every piece is valid UTF-8. An error ends the answer.
using TextSink = std::function<Status(std::string_view)>;

struct AnswerRequest {
  std::vector<TokenId> prompt = {};
  std::uint64_t max_tokens = 0;
  std::vector<std::string> stop = {};
  std::uint64_t choice = 0;  // which of several answers to the same prompt
};

// Answers on the session. A signal that is noted ends the answer, which is then "cancelled".
Result<Answer> answer(LoadedModel& model, engine::Session& session, const AnswerRequest& request,
                      const NotedSignals& signals, const TextSink& sink);

}  // namespace zllm::cli
