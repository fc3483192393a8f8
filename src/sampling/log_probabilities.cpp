#include <zllm/sampling/log_probabilities.h>

#include <cmath>
#include <limits>

#include <zllm/base/text.h>
#include <zllm/sampling/ranking.h>

namespace zllm::sampling {

Status check_logits(std::span<const float> logits, std::size_t vocabulary) {
  ZLLM_CHECK(vocabulary <= logits.size(), "sampling: vocabulary larger than the row of logits");
  if (vocabulary == 0) {
    return Error{Code::invalid_argument, "sampling: a vocabulary without tokens"};
  }
  for (std::size_t token = 0; token < vocabulary; ++token) {
    if (!(logits[token] <= std::numeric_limits<float>::max())) {
      return Error{Code::invalid_file,
                   concat("logits: token ", token,
                          std::isnan(logits[token]) ? " is NaN" : " is plus infinity",
                          ": the model's weights or its arithmetic are broken")};
    }
  }
  return {};
}

Result<LogProbabilities> log_probabilities(std::span<const float> logits, std::size_t vocabulary,
                                           TokenId chosen, std::size_t count) {
  ZLLM_TRY(check_logits(logits, vocabulary));
  const std::span<const float> known = logits.first(vocabulary);
  const auto at = static_cast<std::size_t>(chosen);
  ZLLM_CHECK(chosen >= 0 && at < vocabulary, "sampling: chosen token outside the vocabulary");
  const auto most = static_cast<double>(highest(known).logit);
  if (std::isinf(most)) {
    return Error{Code::invalid_argument, "sampling: every token of the vocabulary is banned"};
  }
  double sum = 0.0;
  for (const float logit : known) {
    sum += std::exp(static_cast<double>(logit) - most);
  }
  const double normaliser = most + std::log(sum);
  LogProbabilities result;
  result.chosen = {chosen, static_cast<double>(known[at]) - normaliser};
  for (const Ranked& ranked : top(known, count)) {
    result.top.push_back({ranked.token, static_cast<double>(ranked.logit) - normaliser});
  }
  return result;
}

}  // namespace zllm::sampling
