#include <zllm/sampling/log_probabilities.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <zllm/base/text.h>
#include <zllm/sampling/ranking.h>

namespace zllm::sampling {
namespace {

bool is_broken(float logit) { return !(logit <= std::numeric_limits<float>::max()); }

// No early exit, so that compilers may use vector registers: broken rows are rare.
std::uint32_t count_broken(std::span<const float> logits) {
  std::uint32_t count = 0;
  for (const float logit : logits) {
    count += is_broken(logit) ? 1u : 0u;
  }
  return count;
}

}  // namespace

Status check_logits(std::span<const float> logits, std::size_t vocabulary) {
  ZLLM_CHECK(vocabulary <= logits.size(), "sampling: vocabulary larger than the row of logits");
  if (vocabulary == 0) {
    return Error{Code::invalid_argument, "sampling: a vocabulary without tokens"};
  }
  const std::span<const float> known = logits.first(vocabulary);
  if (count_broken(known) == 0) {
    return {};
  }
  const auto broken = std::find_if(known.begin(), known.end(), is_broken);
  return Error{Code::invalid_file, concat("logits: token ", broken - known.begin(),
                                          std::isnan(*broken) ? " is NaN" : " is plus infinity",
                                          ": the model's weights or its arithmetic are broken")};
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
