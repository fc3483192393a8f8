#include <zllm/sampling/sampler.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <zllm/base/text.h>
#include <zllm/sampling/log_probabilities.h>
#include <zllm/sampling/ranking.h>

namespace zllm::sampling {
namespace {

constexpr float kBanned = -std::numeric_limits<float>::infinity();

bool has_penalty(const SamplingParameters& parameters) {
  return parameters.penalty_last_n != 0 &&
         (parameters.repetition_penalty != 1.0 || parameters.presence_penalty != 0.0 ||
          parameters.frequency_penalty != 0.0);
}

std::span<const TokenId> window(const SamplingParameters& parameters,
                                std::span<const TokenId> history) {
  const auto size = static_cast<std::uint64_t>(parameters.penalty_last_n);
  return parameters.penalty_last_n < 0 || size >= history.size()
             ? history
             : history.last(static_cast<std::size_t>(size));
}

// Extreme penalties stay finite, so that only bans are infinite.
float finite_logit(double logit) {
  constexpr double kMost = static_cast<double>(std::numeric_limits<float>::max());
  return std::isinf(logit) && logit < 0.0 ? kBanned
                                          : static_cast<float>(std::clamp(logit, -kMost, kMost));
}

double penalised(const SamplingParameters& parameters, double logit, std::uint32_t count) {
  const double repetition = parameters.repetition_penalty;
  // A ban stays one whatever the penalty.
  if (std::isinf(logit)) {
    return logit;
  }
  const double repeated = logit > 0.0 ? logit / repetition : logit * repetition;
  return repeated - parameters.presence_penalty - count * parameters.frequency_penalty;
}

}  // namespace

void Sampler::penalise(const SamplingParameters& parameters, std::span<const TokenId> history) {
  counts_.resize(std::max(counts_.size(), adjusted_.size()), 0);
  seen_.clear();
  for (const TokenId token : window(parameters, history)) {
    if (token < 0 || static_cast<std::size_t>(token) >= adjusted_.size()) {
      continue;
    }
    if (counts_[static_cast<std::size_t>(token)]++ == 0) {
      seen_.push_back(token);
    }
  }
  for (const TokenId token : seen_) {
    const auto at = static_cast<std::size_t>(token);
    const auto logit = static_cast<double>(adjusted_[at]);
    adjusted_[at] = finite_logit(penalised(parameters, logit, counts_[at]));
    counts_[at] = 0;
  }
}

Status Sampler::adjust(const SamplingParameters& parameters, const Row& row) {
  ZLLM_TRY(check_logits(row.logits, row.vocabulary));
  logits_ = row.logits.first(row.vocabulary);
  const bool penalties = has_penalty(parameters);
  if (!penalties && parameters.logit_bias.empty() && row.mask.empty()) {
    return {};
  }
  adjusted_.assign(logits_.begin(), logits_.end());
  logits_ = adjusted_;
  if (!row.mask.empty()) {
    ZLLM_CHECK(row.mask.size() * 32 >= row.vocabulary, "sampling: mask shorter than vocabulary");
    for (std::size_t token = 0; token < adjusted_.size(); ++token) {
      if ((row.mask[token / 32] >> (token % 32) & 1u) == 0) {
        adjusted_[token] = kBanned;
      }
    }
  }
  if (penalties) {
    penalise(parameters, row.history);
  }
  for (const LogitBias& entry : parameters.logit_bias) {
    const auto at = static_cast<std::size_t>(entry.token);
    ZLLM_CHECK(entry.token >= 0 && at < adjusted_.size(), "sampling: bias was not validated");
    adjusted_[at] = finite_logit(static_cast<double>(adjusted_[at]) + entry.bias);
  }
  return {};
}

void Sampler::weigh(const SamplingParameters& parameters, float highest_logit) {
  const auto most = static_cast<double>(highest_logit);
  const auto add = [&](float logit, TokenId token) {
    const double weight = std::exp((static_cast<double>(logit) - most) / parameters.temperature);
    if (weight > 0.0) {
      candidates_.push_back({token, weight});
    }
  };
  candidates_.clear();
  const auto k = static_cast<std::uint64_t>(parameters.top_k);
  if (k > 0 && k < logits_.size()) {
    for (const Ranked& ranked : top(logits_, static_cast<std::size_t>(k))) {
      add(ranked.logit, ranked.token);
    }
    return;
  }
  for (std::size_t token = 0; token < logits_.size(); ++token) {
    add(logits_[token], static_cast<TokenId>(token));
  }
}

Result<std::span<const Candidate>> Sampler::distribution(const SamplingParameters& parameters,
                                                         const Row& row) {
  ZLLM_TRY(adjust(parameters, row));
  const Ranked best = highest(logits_);
  if (best.logit == kBanned) {
    return Error{Code::invalid_argument, "sampling: every token of the vocabulary is banned"};
  }
  if (is_greedy(parameters)) {
    candidates_.assign(1, {best.token, 1.0});
    return std::span<const Candidate>(candidates_);
  }
  weigh(parameters, best.logit);
  if (parameters.typical_p < 1.0) {
    keep_typical(candidates_, parameters.typical_p);
  }
  if (parameters.top_p < 1.0) {
    keep_top_p(candidates_, parameters.top_p);
  }
  if (parameters.min_p > 0.0) {
    keep_min_p(candidates_, parameters.min_p);
  }
  normalise(candidates_);
  return std::span<const Candidate>(candidates_);
}

Result<TokenId> Sampler::sample(const SamplingParameters& parameters, const Row& row,
                                const Place& place) {
  ZLLM_TRY(const auto candidates, distribution(parameters, row));
  return pick(candidates, uniforms(parameters.seed, place)[0]);
}

TokenId pick(std::span<const Candidate> candidates, double uniform) {
  ZLLM_CHECK(!candidates.empty(), "sampling: a draw from no candidates");
  double sum = 0.0;
  for (const Candidate& candidate : candidates) {
    sum += candidate.probability;
    if (uniform < sum) {
      return candidate.token;
    }
  }
  // The probabilities may add up to a little less than 1.
  return candidates.back().token;
}

}  // namespace zllm::sampling
