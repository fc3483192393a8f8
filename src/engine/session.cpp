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
  auto output = read(prompt.subspan(reused_), stop, progress);
  ZLLM_TRY(const std::uint64_t rows, model_->states().rows(sequence_));
  tokens_.assign(prompt.begin(), prompt.begin() + static_cast<std::ptrdiff_t>(rows));
  return output;
}

// Appends the rest of a prompt. A state that can be cut only at checkpoints gets one before the
// last token, where the same prompt, or one that goes on from it, resumes.
Result<runtime::RoundOutput> Session::read(std::span<const TokenId> rest, std::stop_token stop,
                                           const runtime::PrefillProgress& progress) {
  using runtime::PrefillLogits;
  if (!model_->info().is_recurrent) {
    return runtime::prefill(*model_, sequence_, rest, PrefillLogits::last, stop, progress);
  }
  runtime::PrefillProgress of_all;
  std::uint64_t before = 0;
  if (progress) {
    of_all = [&](std::uint64_t done, std::uint64_t) { progress(before + done, rest.size()); };
  }
  const auto body = rest.first(rest.size() - 1);
  ZLLM_TRY(runtime::prefill(*model_, sequence_, body, PrefillLogits::none, stop, of_all));
  ZLLM_TRY(model_->states().checkpoint(sequence_));
  before = body.size();
  return runtime::prefill(*model_, sequence_, rest.last(1), PrefillLogits::last, stop, of_all);
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
