#include <zllm/sampling/parameters.h>

#include <cmath>
#include <limits>
#include <string_view>

#include <zllm/base/text.h>

namespace zllm::sampling {
namespace {

constexpr std::int64_t kWholeContext = -1;

struct Range {
  double least = 0.0;
  double most = 0.0;
  bool open = false;  // the least value itself is out
};

Status within(std::string_view name, double value, const Range& range) {
  const bool enough = range.open ? value > range.least : value >= range.least;
  if (enough && value <= range.most) {
    return {};
  }
  return Error{Code::invalid_argument,
               concat(name, " must be ", range.open ? "above " : "from ", range.least,
                      range.open ? " and at most " : " to ", range.most, ", is ", value)};
}

Status validate_bias(const std::vector<LogitBias>& biases, std::size_t vocabulary) {
  if (biases.size() > kLogitBiasEntries) {
    return Error{Code::invalid_argument,
                 concat("logit_bias has ", biases.size(), " entries; at most ", kLogitBiasEntries)};
  }
  for (const LogitBias& entry : biases) {
    if (entry.token < 0 || static_cast<std::size_t>(entry.token) >= vocabulary) {
      return Error{Code::invalid_argument,
                   concat("logit_bias: token ", entry.token, " is outside the vocabulary of ",
                          vocabulary, " tokens")};
    }
    if (entry.bias != -std::numeric_limits<double>::infinity()) {
      ZLLM_TRY(within(concat("logit_bias of token ", entry.token), entry.bias,
                      {-kLogitBiasLimit, kLogitBiasLimit}));
    }
  }
  return {};
}

}  // namespace

Status validate(const SamplingParameters& parameters, std::size_t vocabulary) {
  ZLLM_TRY(within("temperature", parameters.temperature, {0.0, kTemperatureLimit}));
  if (parameters.top_k < 0) {
    return Error{Code::invalid_argument,
                 concat("top_k must be at least 0 (0 = off), is ", parameters.top_k)};
  }
  ZLLM_TRY(within("top_p", parameters.top_p, {0.0, 1.0, true}));
  ZLLM_TRY(within("min_p", parameters.min_p, {0.0, 1.0}));
  ZLLM_TRY(within("typical_p", parameters.typical_p, {0.0, 1.0, true}));
  ZLLM_TRY(within("repetition_penalty", parameters.repetition_penalty,
                  {0.0, kRepetitionPenaltyLimit, true}));
  ZLLM_TRY(
      within("presence_penalty", parameters.presence_penalty, {-kPenaltyLimit, kPenaltyLimit}));
  ZLLM_TRY(
      within("frequency_penalty", parameters.frequency_penalty, {-kPenaltyLimit, kPenaltyLimit}));
  if (parameters.penalty_last_n < kWholeContext) {
    return Error{Code::invalid_argument,
                 concat("penalty_last_n must be at least -1 (0 = off, -1 = the whole context), is ",
                        parameters.penalty_last_n)};
  }
  return validate_bias(parameters.logit_bias, vocabulary);
}

}  // namespace zllm::sampling
