#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/base/strong.h>
#include <zllm/runtime/any_model.h>
#include <zllm/runtime/prefill.h>

namespace zllm::engine {

// One conversation on a model: a sequence together with the tokens that its state holds. A new
// prompt that starts like the old one reuses the state of the common part. Releases the sequence
// when destroyed; the model must outlive it. One thread at a time.
class Session {
 public:
  // expected_tokens: what the conversation may come to hold, 0 = the context; no limit
  // (runtime/sequence_states.h).
  static Result<Session> create(runtime::AnyModel& model, std::uint64_t expected_tokens = 0);

  Session(Session&& other) noexcept;
  Session& operator=(Session&&) = delete;
  ~Session();

  // Makes the state hold exactly `prompt` and gives the logits of its last row. An error, naming
  // both counts, when the prompt does not fit the context. Cancelled: the computed part is kept.
  Result<runtime::RoundOutput> prompt(std::span<const TokenId> prompt, std::stop_token stop = {},
                                      const runtime::PrefillProgress& progress = {});
  // Appends one token and gives its logits.
  Result<runtime::RoundOutput> append(TokenId token);

  std::span<const TokenId> tokens() const { return tokens_; }
  std::size_t reused_tokens() const { return reused_; }  // of the last prompt
  runtime::AnyModel& model() { return *model_; }

 private:
  Session(runtime::AnyModel& model, SequenceId sequence) : model_(&model), sequence_(sequence) {}

  Status resume(std::size_t kept);
  Result<runtime::RoundOutput> read(std::span<const TokenId> rest, std::stop_token stop,
                                    const runtime::PrefillProgress& progress);

  runtime::AnyModel *model_;  // null after a move
  SequenceId sequence_;
  std::vector<TokenId> tokens_;
  std::size_t reused_ = 0;
};

}  // namespace zllm::engine
