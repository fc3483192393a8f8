#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/base/strong.h>

namespace zllm::sampling {

// Bounds of what requests may ask for.
constexpr double kTemperatureLimit = 100.0;         // far beyond any use: nearly uniform
constexpr double kPenaltyLimit = 100.0;             // of either sign; logits seldom exceed 50
constexpr double kRepetitionPenaltyLimit = 1000.0;  // enough to ban; keeps f32 logits finite
constexpr double kLogitBiasLimit = 100.0;           // the range of OpenAI's API
constexpr std::size_t kLogitBiasEntries = 4096;     // bounds a request's work for each token

struct LogitBias {
  TokenId token = 0;
  double bias = 0.0;  // within kLogitBiasLimit, or minus infinity to ban the token

  bool operator==(const LogitBias&) const = default;
};

// The defaults change nothing but draw at random; what each means: sampler.h.
struct SamplingParameters {
  double temperature = 1.0;           // 0 (greedy) to kTemperatureLimit
  std::int64_t top_k = 0;             // 0 = off; larger than the vocabulary is off too
  double top_p = 1.0;                 // above 0, to 1 = off
  double min_p = 0.0;                 // 0 = off, to 1
  double typical_p = 1.0;             // above 0, to 1 = off
  double repetition_penalty = 1.0;    // above 0, to kRepetitionPenaltyLimit; 1 = off
  double presence_penalty = 0.0;      // within kPenaltyLimit; 0 = off
  double frequency_penalty = 0.0;     // within kPenaltyLimit; 0 = off
  std::int64_t penalty_last_n = -1;   // last tokens that penalties see; 0 = none, -1 = all
  std::vector<LogitBias> logit_bias;  // entries for one token add up
  std::uint64_t seed = 0;

  bool operator==(const SamplingParameters&) const = default;
};

// Refuses NaN and every value out of its range, naming the parameter, the range and the value; also
// bias for tokens outside the vocabulary (ids below `vocabulary`).
Status validate(const SamplingParameters& parameters, std::size_t vocabulary);

// Whether the token is the likeliest one, with no randomness.
constexpr bool is_greedy(const SamplingParameters& parameters) {
  return parameters.temperature == 0.0;
}

}  // namespace zllm::sampling
