#include <zllm/dialect/completions/completions.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <zllm/base/text.h>
#include <zllm/dialect/completions/completions_encoder.h>
#include <zllm/dialect/completions/prompt_fields.h>
#include <zllm/dialect/field_reader.h>
#include <zllm/dialect/format_fields.h>
#include <zllm/dialect/generation_fields.h>
#include <zllm/dialect/sampling_fields.h>

namespace zllm::dialect::completions {
namespace {

constexpr std::int64_t kDefaultMaxTokens = 16;        // as in OpenAI's API
constexpr std::int64_t kMaxTopLogProbabilities = 20;  // as Chat Completions; this API's own is 5
constexpr std::size_t kMaxTexts = 1024;               // of all prompts: each is kept until the end

}  // namespace

Outcome<Batch> read(const Json& body, const AnswerFacts& facts) {
  FieldReader fields(body, "");
  std::vector<RawPrompt> prompts = read_prompts(fields);
  Request request;
  // What a raw prompt is answered with is text and nothing else.
  request.reasoning.is_separate = false;
  read_sampling(fields, request.sampling);
  const std::int64_t max_tokens = fields.integer("max_tokens").value_or(kDefaultMaxTokens);
  request.max_tokens = static_cast<std::uint64_t>(max_tokens);
  request.echoes_prompt = fields.boolean("echo").value_or(false);
  if (max_tokens == 0 && !request.echoes_prompt) {
    fields.fail("max_tokens", "0 leaves nothing to answer without 'echo'");
  }
  const OutputOptions output = read_output_options(fields);
  read_generation(fields, output.is_streaming, request);
  if (const auto top = fields.integer("logprobs", {.most = kMaxTopLogProbabilities})) {
    request.top_log_probabilities = static_cast<std::uint32_t>(*top);
  }
  read_format(fields, request.format);
  fields.text("model");
  read_account_fields(fields);
  if (!fields.text("suffix").value_or("").empty()) {
    fields.fail(unsupported_field("suffix", "nothing is filled in between texts here"));
  }
  if (prompts.size() * std::max(request.choices, request.candidates) > kMaxTexts) {
    fields.fail("n", concat("more than ", kMaxTexts, " texts for all prompts"));
  }
  ZLLM_TRY(fields.finish());

  Batch batch;
  batch.is_streaming = output.is_streaming;
  batch.encoder = std::make_unique<CompletionsEncoder>(
      CompletionsAnswer{.facts = facts,
                        .prompts = prompts.size(),
                        .choices = request.choices,
                        .has_log_probabilities = request.top_log_probabilities.has_value(),
                        .output = output});
  for (RawPrompt& prompt : prompts) {
    batch.requests.push_back(request);
    batch.requests.back().input = std::move(prompt);
  }
  return batch;
}

}  // namespace zllm::dialect::completions
