#include "generation_options.h"

#include <limits>
#include <utility>

#include <zllm/base/text.h>
#include <zllm/embedded/sampling_choice.h>
#include <zllm/sampling/parameters.h>

namespace zllm::cli {
namespace {

constexpr std::uint64_t kContextLimit = std::uint64_t{1} << 32;
constexpr unsigned kThreadLimit = 4096;

Result<std::pair<TokenId, double>> parse_bias(std::string_view text) {
  const std::size_t equals = text.find('=');
  std::pair<TokenId, double> bias;
  if (equals == std::string_view::npos || !parse_number(text.substr(0, equals), bias.first) ||
      !parse_number(text.substr(equals + 1), bias.second)) {
    return Error{Code::invalid_argument,
                 concat("--logit-bias ", quote(text), " is not of the form id=value")};
  }
  return bias;
}

}  // namespace

void describe_model(commands::ModelOptions& options, OptionTable& table) {
  table.text("model", "PATH", "Hub-layout folder, GGUF file or the name of a pulled model",
             options.model);
  table.text("backend", "NAME", "What computes: see 'zllm capabilities'", options.backend);
  table.number("threads", "Threads, 0 = as many as this process may use", options.threads,
               Range<unsigned>{0, kThreadLimit});
  table.number("context", "Tokens of context, 0 = the model's own as far as memory goes",
               options.context, Range<std::uint64_t>{0, kContextLimit});
  table.choice("kv-type", {"f32", "f16"}, "Numbers of the cache", options.kv_type);
}

void describe_generation(GenerationOptions& options, OptionTable& table) {
  describe_model(options.model, table);
  table.text("pre-tokenizer", "NAME", "In place of what a GGUF file names", options.pre_tokenizer);
  table.number("max-tokens", "Length of an answer at most", options.max_tokens,
               Range<std::uint64_t>{1, kContextLimit});
  table.number("temperature",
               "Randomness; 0 = always the likeliest token; not set = the model's own, or 0",
               options.temperature, Range<double>{0, sampling::kTemperatureLimit});
  table.number("top-k", "Choose among the k likeliest tokens, 0 = off", options.top_k,
               Range<std::int64_t>{0});
  table.number("top-p", "Choose among the likeliest tokens that hold this share", options.top_p,
               Range<double>{kAboveZero, 1});
  table.number("min-p", "Choose among tokens of this share of the likeliest", options.min_p,
               Range<double>{0, 1});
  table.number("typical-p", "Choose among the most typical tokens of this share", options.typical_p,
               Range<double>{kAboveZero, 1});
  table.number("repetition-penalty", "Divides the logits of tokens seen, 1 = off",
               options.repetition_penalty,
               Range<double>{kAboveZero, sampling::kRepetitionPenaltyLimit});
  table.number("presence-penalty", "Taken off the logits of tokens seen", options.presence_penalty,
               Range<double>{-sampling::kPenaltyLimit, sampling::kPenaltyLimit});
  table.number("frequency-penalty", "The same for every time a token was seen",
               options.frequency_penalty,
               Range<double>{-sampling::kPenaltyLimit, sampling::kPenaltyLimit});
  table.number("penalty-last-n", "Last tokens that penalties see, 0 = none, -1 = all",
               options.penalty_last_n, Range<std::int64_t>{-1});
  table.list("logit-bias", "ID=X", "Added to a token's logit (repeatable)", options.logit_bias);
  table.number("seed", "Makes answers repeatable", options.seed, Range<std::uint64_t>{0});
  table.list("stop", "TEXT", "Ends the answer and is not part of it (repeatable)", options.stop);
}

Status check_generation(const GenerationOptions& options, std::size_t vocabulary) {
  ZLLM_TRY(const Request request, to_request(options));
  const auto checked = zllm::sampling_parameters(request.sampling, {}, vocabulary);
  return checked.ok() ? Status() : Error{Code::invalid_argument, checked.error().message};
}

Result<Request> to_request(const GenerationOptions& options) {
  Request request;
  request.reasoning.is_separate = false;
  request.max_tokens = options.max_tokens;
  request.stop = options.stop;
  request.sampling = {.temperature = options.temperature,
                      .top_p = options.top_p,
                      .min_p = options.min_p,
                      .typical_p = options.typical_p,
                      .repetition_penalty = options.repetition_penalty,
                      .presence_penalty = options.presence_penalty,
                      .frequency_penalty = options.frequency_penalty,
                      .top_k = options.top_k,
                      .penalty_last_n = options.penalty_last_n,
                      .seed = options.seed};
  for (const std::string& text : options.logit_bias) {
    ZLLM_TRY(const auto bias, parse_bias(text));
    request.sampling.logit_bias.push_back(bias);
  }
  return request;
}

}  // namespace zllm::cli
