#pragma once

#include <span>

#include <zllm/base/result.h>
#include <zllm/base/strong.h>
#include <zllm/runtime/any_model.h>

namespace zllm::runtime {

enum class PrefillLogits { none, last, all };

// Appends tokens to a sequence in rounds of at most the model's rows per round, each committed.
Result<RoundOutput> prefill(AnyModel& model, SequenceId sequence, std::span<const TokenId> tokens,
                            PrefillLogits logits);

// Appends one token and gives its logits.
Result<RoundOutput> decode(AnyModel& model, SequenceId sequence, TokenId token);

}  // namespace zllm::runtime
