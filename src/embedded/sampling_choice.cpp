#include <zllm/embedded/sampling_choice.h>

#include <array>
#include <random>
#include <string_view>
#include <utility>

namespace zllm {
namespace {

using sampling::SamplingParameters;

constexpr double kSampledTemperature = 1;  // of transformers and of the API

double number_of(const Json *config, std::string_view key, double fallback) {
  const Json *value = config == nullptr ? nullptr : config->find(key);
  double number = fallback;
  return value != nullptr && value->as_number(number) ? number : fallback;
}

double temperature_of(const Json *config, double usual) {
  const Json *value = config == nullptr ? nullptr : config->find("do_sample");
  const bool *is_sampled = value == nullptr ? nullptr : value->as_bool();
  if (is_sampled == nullptr) {
    return number_of(config, "temperature", usual);
  }
  return *is_sampled ? number_of(config, "temperature", kSampledTemperature) : 0.0;
}

std::uint64_t fresh_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

// Sets a number where it is given and checks it alone, so that its name is known.
template <class T>
Outcome<Done> set(SamplingParameters& parameters, T SamplingParameters::*member,
                  const std::optional<T>& value, std::string_view field) {
  if (!value) {
    return Done();
  }
  SamplingParameters alone;
  alone.*member = *value;
  if (const Status status = sampling::validate(alone, 1); !status.ok()) {
    return Failure::from(status.error(), std::string(field));
  }
  parameters.*member = *value;
  return Done();
}

}  // namespace

SamplingParameters model_sampling(const Json *generation_config, double temperature) {
  SamplingParameters parameters;
  parameters.temperature = temperature_of(generation_config, temperature);
  parameters.top_p = number_of(generation_config, "top_p", 1);
  parameters.top_k = static_cast<std::int64_t>(number_of(generation_config, "top_k", 0));
  parameters.min_p = number_of(generation_config, "min_p", 0);
  parameters.typical_p = number_of(generation_config, "typical_p", 1);
  parameters.repetition_penalty = number_of(generation_config, "repetition_penalty", 1);
  return parameters;
}

Outcome<SamplingParameters> sampling_parameters(const SamplingOptions& options,
                                                const SamplingParameters& usual,
                                                std::size_t vocabulary) {
  using P = SamplingParameters;
  using O = SamplingOptions;
  struct Number {
    double P::*member;
    std::optional<double> O::*option;
    std::string_view field;
  };
  constexpr std::array<Number, 7> kNumbers = {
      {{&P::temperature, &O::temperature, "temperature"},
       {&P::top_p, &O::top_p, "top_p"},
       {&P::min_p, &O::min_p, "min_p"},
       {&P::typical_p, &O::typical_p, "typical_p"},
       {&P::repetition_penalty, &O::repetition_penalty, "repetition_penalty"},
       {&P::presence_penalty, &O::presence_penalty, "presence_penalty"},
       {&P::frequency_penalty, &O::frequency_penalty, "frequency_penalty"}}};
  P parameters = usual;
  for (const Number& number : kNumbers) {
    ZLLM_TRY(set(parameters, number.member, options.*number.option, number.field));
  }
  ZLLM_TRY(set(parameters, &P::top_k, options.top_k, "top_k"));
  ZLLM_TRY(set(parameters, &P::penalty_last_n, options.penalty_last_n, "penalty_last_n"));
  for (const auto& [token, bias] : options.logit_bias) {
    parameters.logit_bias.push_back({.token = token, .bias = bias});
  }
  parameters.seed = options.seed ? *options.seed : fresh_seed();
  if (const Status status = sampling::validate(parameters, vocabulary); !status.ok()) {
    return Failure::from(status.error(), "logit_bias");
  }
  return parameters;
}

}  // namespace zllm
