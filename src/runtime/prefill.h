#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/base/strong.h>
#include <zllm/runtime/any_model.h>

namespace zllm::runtime {

enum class PrefillLogits { none, last, all };

// Rows of a prompt done so far and in all; called after every round.
using PrefillProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

// Appends tokens to a sequence in rounds of at most the model's rows per round, each committed.
// Stops between rounds with Code::cancelled when asked, keeping what is computed.
Result<RoundOutput> prefill(AnyModel& model, SequenceId sequence, std::span<const TokenId> tokens,
                            PrefillLogits logits, std::stop_token stop = {},
                            const PrefillProgress& progress = {});

// Appends one token and gives its logits.
Result<RoundOutput> decode(AnyModel& model, SequenceId sequence, TokenId token);

}  // namespace zllm::runtime
