#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <zllm/base/json.h>
#include <zllm/base/result.h>
#include <zllm/sampling/parameters.h>

#include "commands/model_options.h"
#include "option_table.h"

namespace zllm::cli {

// Of an answer that states no length; the context may end it earlier.
constexpr std::uint64_t kDefaultMaxTokens = 1024;
// Where neither the user nor the model's generation_config.json says anything: near the likeliest
// answer, but without the loops that small models fall into when greedy.
constexpr double kDefaultTemperature = 0.2;
constexpr double kDefaultTopP = 0.9;

// What run and chat both ask of an answer. Sampling values that are not set come from the model.
struct GenerationOptions {
  commands::ModelOptions model;
  std::string pre_tokenizer;
  std::uint64_t max_tokens = kDefaultMaxTokens;
  std::optional<double> temperature, top_p, min_p, typical_p, repetition_penalty;
  std::optional<std::int64_t> top_k;
  double presence_penalty = 0.0;
  double frequency_penalty = 0.0;
  std::int64_t penalty_last_n = -1;
  std::vector<std::string> logit_bias;  // "id=value"
  std::uint64_t seed = 0;
  std::vector<std::string> stop;
};

void describe_model(commands::ModelOptions& options, OptionTable& table);
void describe_generation(GenerationOptions& options, OptionTable& table);

// What is certain before a model is loaded: every option by itself and logit biases as text.
Status check_generation(const GenerationOptions& options);

// The options over the model's generation_config.json (may be null) over the defaults above. Where
// generation_config.json says do_sample = false and no temperature is asked for, greedy.
Result<sampling::SamplingParameters> sampling_parameters(const GenerationOptions& options,
                                                         const Json *generation_config);

}  // namespace zllm::cli
