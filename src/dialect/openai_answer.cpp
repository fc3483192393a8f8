#include <zllm/dialect/openai_answer.h>

#include <cstdint>

#include <zllm/base/check.h>
#include <zllm/base/text.h>

namespace zllm::dialect {
namespace {

constexpr double kMillisecondsInSecond = 1000;

struct ErrorWords {
  std::string_view type;
  std::string_view code;  // where the failure has none; empty = null
};

ErrorWords error_words(FailureKind kind) {
  switch (kind) {
    case FailureKind::invalid:
      return {"invalid_request_error", ""};
    case FailureKind::too_long:
      return {"invalid_request_error", "context_length_exceeded"};
    case FailureKind::unsupported:
      return {"invalid_request_error", "unsupported_parameter"};
    case FailureKind::not_found:
      return {"invalid_request_error", "not_found"};
    case FailureKind::busy:
      return {"rate_limit_error", "rate_limit_exceeded"};
    case FailureKind::loading:
      return {"server_error", "model_loading"};
    case FailureKind::deadline:
      return {"server_error", "deadline_exceeded"};
    case FailureKind::shut_down:
      return {"server_error", "shutting_down"};
    case FailureKind::out_of_memory:
      return {"server_error", "out_of_memory"};
    case FailureKind::internal:
      return {"server_error", "internal_error"};
  }
  ZLLM_CHECK(false, "a failure of no kind");
}

void write_text_or_null(JsonWriter& json, std::string_view name, std::string_view text) {
  if (text.empty()) {
    json.null(name);
  } else {
    json.text(name, text);
  }
}

void write_token(JsonWriter& json, const ScoredToken& scored) {
  json.text("token", scored.bytes);
  json.key("logprob").log_probability(scored.log_probability);
  json.begin_array("bytes");
  for (const char byte : scored.bytes) {
    json.integer(static_cast<unsigned>(static_cast<unsigned char>(byte)));
  }
  json.end_array();
}

}  // namespace

std::string openai_error_body(const Failure& failure) {
  const ErrorWords words = error_words(failure.kind);
  JsonWriter json;
  json.begin_object().begin_object("error");
  json.text("message", failure.message).text("type", words.type);
  write_text_or_null(json, "param", failure.field);
  write_text_or_null(json, "code", failure.code.empty() ? words.code : failure.code);
  json.end_object().end_object();
  return std::move(json).str();
}

void write_fingerprint(JsonWriter& json, const AnswerFacts& facts) {
  if (!facts.identity.empty()) {
    json.text("system_fingerprint", concat("fp_", facts.identity));
  }
}

void write_usage(JsonWriter& json, const Usage& usage) {
  json.begin_object("usage");
  json.integer("prompt_tokens", usage.prompt_tokens);
  json.integer("completion_tokens", usage.completion_tokens);
  json.integer("total_tokens", usage.prompt_tokens + usage.completion_tokens);
  json.begin_object("prompt_tokens_details").integer("cached_tokens", usage.cached_tokens);
  json.end_object();
  json.begin_object("completion_tokens_details");
  json.integer("reasoning_tokens", usage.reasoning_tokens).end_object();
  json.end_object();
}

void write_timings(JsonWriter& json, const AnswerTimings& timings, const Usage& usage) {
  const std::uint64_t computed = usage.prompt_tokens - usage.cached_tokens;
  json.begin_object("timings");
  json.number("queue_ms", timings.queue_seconds * kMillisecondsInSecond);
  json.integer("cache_n", usage.cached_tokens).integer("prompt_n", computed);
  json.number("prompt_ms", timings.prefill_seconds * kMillisecondsInSecond);
  json.number("prompt_per_second", static_cast<double>(computed) / timings.prefill_seconds);
  json.integer("predicted_n", usage.completion_tokens);
  json.number("predicted_ms", timings.decode_seconds * kMillisecondsInSecond);
  json.number("predicted_per_second",
              static_cast<double>(usage.completion_tokens) / timings.decode_seconds);
  json.end_object();
}

std::string_view finish_reason(StopReason reason) {
  switch (reason) {
    case StopReason::end:
    case StopReason::stop:
    case StopReason::cancelled:  // its client has gone; the API has no word of its own
      return "stop";
    case StopReason::length:
      return "length";
    case StopReason::calls:
      return "tool_calls";
  }
  ZLLM_CHECK(false, "a stop without a reason");
}

void append_scored(std::string& out, const std::vector<ScoredToken>& tokens, Scores which) {
  for (const ScoredToken& scored : tokens) {
    if (which == Scores::content && !scored.is_content) {
      continue;
    }
    JsonWriter json;
    json.begin_object();
    write_token(json, scored);
    json.begin_array("top_logprobs");
    for (const ScoredToken& alternative : scored.top) {
      json.begin_object();
      write_token(json, alternative);
      json.end_object();
    }
    json.end_array().end_object();
    out += out.empty() ? "" : ",";
    out += json.str();
  }
}

}  // namespace zllm::dialect
