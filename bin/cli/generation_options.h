#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/base/strong.h>
#include <zllm/embedded/request.h>

#include "commands/model_options.h"
#include "option_table.h"

namespace zllm::cli {

// Of an answer that states no length; the context may end it earlier.
constexpr std::uint64_t kDefaultMaxTokens = 1024;
// Where neither options nor the model's files say one: greedy, as in transformers.
constexpr double kUnsetTemperature = 0;

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

// What a token id can be at most, where the model's vocabulary is not known yet.
constexpr std::size_t kAnyVocabulary{std::numeric_limits<TokenId>::max()};

// Every option by itself, and logit biases as text. vocabulary: ids that biases may name.
Status check_generation(const GenerationOptions& options, std::size_t vocabulary = kAnyVocabulary);

// A request without its input. Reasoning stays in the text as the model wrote it.
Result<Request> to_request(const GenerationOptions& options);

}  // namespace zllm::cli
