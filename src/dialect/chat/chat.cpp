#include <zllm/dialect/chat/chat.h>

#include <cstdint>
#include <memory>
#include <utility>

#include <zllm/base/text.h>
#include <zllm/dialect/chat/chat_encoder.h>
#include <zllm/dialect/chat/message_fields.h>
#include <zllm/dialect/chat/reasoning_fields.h>
#include <zllm/dialect/chat/tool_fields.h>
#include <zllm/dialect/field_reader.h>
#include <zllm/dialect/format_fields.h>
#include <zllm/dialect/generation_fields.h>
#include <zllm/dialect/openai_answer.h>
#include <zllm/dialect/sampling_fields.h>

namespace zllm::dialect::chat {
namespace {

constexpr std::int64_t kMaxTopLogProbabilities = 20;  // as in OpenAI's API

void read_max_tokens(FieldReader& fields, Request& request) {
  const auto old = fields.integer("max_tokens", {.least = 1});
  const auto most = fields.integer("max_completion_tokens", {.least = 1});
  if (old && most && *old != *most) {
    fields.fail("max_tokens", "'max_completion_tokens' has another value");
  }
  if (most || old) {
    request.max_tokens = static_cast<std::uint64_t>(most ? *most : *old);
  }
}

void read_log_probabilities(FieldReader& fields, Request& request) {
  const bool is_asked = fields.boolean("logprobs").value_or(false);
  const auto top = fields.integer("top_logprobs", {.most = kMaxTopLogProbabilities});
  if (is_asked) {
    request.top_log_probabilities = static_cast<std::uint32_t>(top.value_or(0));
  } else if (top.value_or(0) != 0) {
    fields.fail("top_logprobs", "only allowed when 'logprobs' is true");
  }
}

void read_modalities(FieldReader& fields) {
  const Json::Array *modalities = fields.array("modalities");
  for (std::size_t i = 0; modalities != nullptr && i < modalities->size(); ++i) {
    const std::string path = element_path("modalities", i);
    const auto modality = fields.keep(read_text((*modalities)[i], path));
    if (modality && *modality != "text") {
      fields.fail(unsupported_field(path, concat(quote(*modality), " is not written here")));
    }
  }
}

// Fields of the API that mean nothing here or ask for what no model does here.
void read_other_fields(FieldReader& fields) {
  fields.text("model");
  read_account_fields(fields);
  read_modalities(fields);
  const auto verbosity = fields.word("verbosity", {"low", "medium", "high"});
  if (verbosity.value_or("medium") != "medium") {
    fields.fail(unsupported_field("verbosity", "no model here knows another than 'medium'"));
  }
  fields.refuse({"functions", "function_call"}, "deprecated; 'tools' and 'tool_choice' are read");
  fields.refuse("audio", "sound is not written here");
  fields.refuse("prediction", "predicted outputs are not used here");
  fields.refuse("web_search_options", "nothing is searched here");
}

}  // namespace

Outcome<Exchange> read(const Json& body, const AnswerFacts& facts) {
  FieldReader fields(body, "");
  Request request;
  Conversation conversation;
  conversation.messages = read_messages(fields);
  read_tools(fields, conversation);
  read_reasoning(fields, conversation, request.reasoning);
  read_sampling(fields, request.sampling);
  read_max_tokens(fields, request);
  const OutputOptions output = read_output_options(fields);
  read_generation(fields, output.is_streaming, request);
  read_log_probabilities(fields, request);
  read_format(fields, request.format);
  read_other_fields(fields);
  ZLLM_TRY(fields.finish());
  request.input = std::move(conversation);

  Exchange exchange;
  exchange.is_streaming = output.is_streaming;
  exchange.encoder = std::make_unique<ChatEncoder>(
      ChatAnswer{.facts = facts,
                 .choices = request.choices,
                 .has_log_probabilities = request.top_log_probabilities.has_value(),
                 .names_tier = fields.has("service_tier"),
                 .output = output});
  exchange.request = std::move(request);
  return exchange;
}

std::string error_body(const Failure& failure) { return openai_error_body(failure); }

}  // namespace zllm::dialect::chat
