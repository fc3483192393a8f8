#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/base/strong.h>

namespace zllm::sampling {

struct TokenLogProbability {
  TokenId token = 0;
  double log_probability = 0.0;  // natural; minus infinity for a logit of minus infinity
};

struct LogProbabilities {
  TokenLogProbability chosen;
  std::vector<TokenLogProbability> top;  // likelier first, ties to the lower id
};

// Refuses a logit that is NaN or plus infinity, naming its token, and a vocabulary of none; minus
// infinity is a banned token. Looks at ids below `vocabulary` alone.
Status check_logits(std::span<const float> logits, std::size_t vocabulary);

// Log-probabilities of the raw distribution: softmax of the logits as the model gave them, over
// ids below `vocabulary`, before mask, penalties, bias, temperature and truncation. So they mean
// the same under any parameters, and a forced or improbable token shows as such. `count` may be 0
// and may exceed the vocabulary. `chosen` is an id of the vocabulary.
Result<LogProbabilities> log_probabilities(std::span<const float> logits, std::size_t vocabulary,
                                           TokenId chosen, std::size_t count);

}  // namespace zllm::sampling
