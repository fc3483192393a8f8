#pragma once

#include <vector>

#include <zllm/base/result.h>
#include <zllm/embedded/model_text.h>
#include <zllm/registry/model_registry.h>
#include <zllm/sampling/parameters.h>

#include "generation_options.h"

namespace zllm::cli {

// A model with its text side, ready to answer.
struct LoadedModel {
  registry::Model model;
  ModelText text;
  sampling::SamplingParameters sampling;
  std::vector<TokenId> end_tokens;  // the model's and the tokenizer's
};

// Loads weights and tokenizer side by side. Warnings go to stderr.
Result<LoadedModel> load_for_answers(const GenerationOptions& options);

}  // namespace zllm::cli
