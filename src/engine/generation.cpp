#include <zllm/engine/generation.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include <zllm/base/text.h>
#include <zllm/sampling/sampler.h>

namespace zllm::engine {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Answer {
 public:
  Answer(Session& session, const GenerationRequest& request)
      : session_(session),
        request_(request),
        vocabulary_(request.vocabulary != 0
                        ? std::min<std::size_t>(request.vocabulary, model_vocabulary())
                        : model_vocabulary()) {}

  // Chooses tokens from `logits` on until something ends the answer.
  Result<FinishReason> run(runtime::RoundOutput logits, const TokenSink& sink,
                           const std::stop_token& stop, std::vector<TokenId>& tokens) {
    history_ = request_.prompt;
    for (;;) {
      if (tokens.size() >= request_.max_tokens) {
        return FinishReason::length;
      }
      if (stop.stop_requested()) {
        return FinishReason::cancelled;
      }
      ZLLM_TRY(const TokenId token, choose(logits.row(logits.rows() - 1)));
      if (std::ranges::find(request_.end_tokens, token) != request_.end_tokens.end()) {
        return FinishReason::end_token;
      }
      tokens.push_back(token);
      history_.push_back(token);
      if (!sink(token)) {
        return FinishReason::stopped;
      }
      if (tokens.size() >= request_.max_tokens ||
          history_.size() > session_.model().info().limits.context) {
        return FinishReason::length;
      }
      ZLLM_TRY(logits, session_.append(token));
    }
  }

 private:
  std::size_t model_vocabulary() const { return session_.model().info().limits.vocabulary; }

  Result<TokenId> choose(std::span<const float> row) {
    return sampler_.sample(request_.sampling,
                           {.logits = row, .vocabulary = vocabulary_, .history = history_},
                           {.choice = request_.choice, .position = history_.size()});
  }

  Session& session_;
  const GenerationRequest& request_;
  std::size_t vocabulary_;
  std::vector<TokenId> history_;
  sampling::Sampler sampler_;
};

}  // namespace

Result<Generation> generate(Session& session, const GenerationRequest& request,
                            const TokenSink& sink, std::stop_token stop,
                            const runtime::PrefillProgress& progress) {
  if (request.max_tokens == 0) {
    return Error{Code::invalid_argument, "max_tokens must be at least 1"};
  }
  ZLLM_TRY(sampling::validate(request.sampling, session.model().info().limits.vocabulary));
  Generation generation;
  generation.prompt_tokens = request.prompt.size();
  const Clock::time_point start = Clock::now();
  Result<runtime::RoundOutput> logits = session.prompt(request.prompt, stop, progress);
  generation.reused_tokens = session.reused_tokens();
  generation.prefill_seconds = seconds_since(start);
  if (!logits.ok()) {
    if (logits.error().code == Code::cancelled) {
      generation.reason = FinishReason::cancelled;
      return generation;
    }
    return std::move(logits).error();
  }
  const Clock::time_point first = Clock::now();
  Answer answer(session, request);
  ZLLM_TRY(generation.reason, answer.run(*std::move(logits), sink, stop, generation.tokens));
  generation.decode_seconds = seconds_since(first);
  return generation;
}

}  // namespace zllm::engine
