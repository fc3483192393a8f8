#include <zllm/engine/session.h>

#include <algorithm>
#include <utility>

#include <zllm/base/text.h>

namespace zllm::engine {

Result<Session> Session::create(runtime::AnyModel& model, std::uint64_t expected_tokens) {
  ZLLM_TRY(const SequenceId sequence, model.states().create(expected_tokens));
  return Session(model, sequence);
}

Session::Session(Session&& other) noexcept
    : model_(std::exchange(other.model_, nullptr)),
      sequence_(other.sequence_),
      tokens_(std::move(other.tokens_)),
      reused_(other.reused_) {}

Session::~Session() {
  if (model_ != nullptr) {
    ZLLM_CHECK(model_->states().release(sequence_).ok(), "release of a session's sequence");
  }
}

Result<runtime::RoundOutput> Session::prompt(std::span<const TokenId> prompt, std::stop_token stop,
                                             const runtime::PrefillProgress& progress) {
  if (prompt.empty()) {
    return Error{Code::invalid_argument, "the prompt has no tokens"};
  }
  const std::uint64_t context = model_->info().limits.context;
  if (prompt.size() > context) {
    return Error{Code::invalid_argument,
                 concat("the prompt has ", prompt.size(), " tokens, the context holds ", context)};
  }
  // The last token always runs, since its logits are wanted.
  const auto [differs, end] =
      std::mismatch(prompt.begin(), prompt.end() - 1, tokens_.begin(), tokens_.end());
  ZLLM_TRY(resume(static_cast<std::size_t>(differs - prompt.begin())));
  reused_ = tokens_.size();
  const auto rest = prompt.subspan(reused_);
  auto output =
      runtime::prefill(*model_, sequence_, rest, runtime::PrefillLogits::last, stop, progress);
  ZLLM_TRY(const std::uint64_t rows, model_->states().rows(sequence_));
  tokens_.assign(prompt.begin(), prompt.begin() + static_cast<std::ptrdiff_t>(rows));
  return output;
}

Result<runtime::RoundOutput> Session::append(TokenId token) {
  ZLLM_TRY(runtime::RoundOutput output, runtime::decode(*model_, sequence_, token));
  tokens_.push_back(token);
  return output;
}

// Cuts the state to `kept` tokens, or to the earlier checkpoint that the model can reach.
Status Session::resume(std::size_t kept) {
  if (kept < tokens_.size()) {
    ZLLM_TRY(const std::uint64_t reached, model_->states().truncate(sequence_, kept));
    tokens_.resize(reached);
  }
  return {};
}

}  // namespace zllm::engine
