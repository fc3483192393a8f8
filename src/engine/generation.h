#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/base/strong.h>
#include <zllm/engine/session.h>
#include <zllm/sampling/parameters.h>

namespace zllm::engine {

struct GenerationRequest {
  std::vector<TokenId> prompt;
  sampling::SamplingParameters sampling;
  std::uint64_t choice = 0;         // which of several answers; part of what seeds a token
  std::uint64_t max_tokens = 0;     // of the answer; cut to what the context holds
  std::vector<TokenId> end_tokens;  // end the answer and are not part of it
  std::size_t vocabulary = 0;       // ids that the tokenizer knows; 0 = all of the model's
};

enum class FinishReason : std::uint8_t {
  end_token,
  stopped,    // the caller's callback had enough
  length,     // max_tokens or the context is reached
  cancelled,  // the stop token asked for it
};

struct Generation {
  FinishReason reason = FinishReason::length;
  std::vector<TokenId> tokens;
  std::uint64_t prompt_tokens = 0;
  std::uint64_t reused_tokens = 0;  // of the prompt, from the session's state
  double prefill_seconds = 0;
  double decode_seconds = 0;
};

// Sees every token of the answer as it is chosen; false ends the answer after it.
using TokenSink = std::function<bool(TokenId token)>;

// Answers a prompt on a session. Cancelled in the prompt or in the answer, it ends within one round
// and keeps what is computed. Every token depends on the prompt, the parameters, the seed and its
// place alone.
Result<Generation> generate(Session& session, const GenerationRequest& request,
                            const TokenSink& sink, std::stop_token stop = {},
                            const runtime::PrefillProgress& progress = {});

}  // namespace zllm::engine
