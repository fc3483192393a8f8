#include <zllm/dialect/completions/completions_encoder.h>

#include <algorithm>
#include <utility>
#include <variant>

#include <zllm/base/check.h>
#include <zllm/base/text.h>
#include <zllm/dialect/openai_answer.h>

namespace zllm::dialect::completions {
namespace {

// What the event adds to the text; a raw prompt has no other parts, so reasoning is text too.
std::string_view text_of(const Event& event) {
  if (const auto *content = std::get_if<ContentDelta>(&event.what)) {
    return content->text;
  }
  if (const auto *reasoning = std::get_if<ReasoningDelta>(&event.what)) {
    return reasoning->text;
  }
  return {};
}

// The API has no tool calls here.
std::string_view reason_word(StopReason reason) {
  return finish_reason(reason == StopReason::calls ? StopReason::end : reason);
}

}  // namespace

CompletionsEncoder::CompletionsEncoder(CompletionsAnswer answer)
    : answer_(std::move(answer)), choices_(answer_.prompts * answer_.choices) {
  JsonWriter json;
  json.begin_object().text("id", concat("cmpl-", answer_.facts.unique));
  json.text("object", "text_completion").integer("created", answer_.facts.created);
  json.text("model", answer_.facts.model);
  write_fingerprint(json, answer_.facts);
  begin_ = json.str() + ",";
}

std::size_t CompletionsEncoder::index_of(std::size_t prompt, const Event& event) const {
  const std::size_t index = prompt * answer_.choices + event.choice;
  ZLLM_CHECK(event.choice < answer_.choices && index < choices_.size(),
             "an event of a choice that was not asked for");
  return index;
}

void CompletionsEncoder::add_end(const Ended& ended) {
  usage_.prompt_tokens += ended.usage.prompt_tokens;
  usage_.cached_tokens += ended.usage.cached_tokens;
  usage_.completion_tokens += ended.usage.completion_tokens;
  usage_.reasoning_tokens += ended.usage.reasoning_tokens;
  timings_.queue_seconds = std::max(timings_.queue_seconds, ended.timings.queue_seconds);
  timings_.prefill_seconds = std::max(timings_.prefill_seconds, ended.timings.prefill_seconds);
  timings_.decode_seconds = std::max(timings_.decode_seconds, ended.timings.decode_seconds);
  ++ended_;
}

void CompletionsEncoder::write_totals(JsonWriter& json, bool has_usage) const {
  if (has_usage) {
    write_usage(json, usage_);
  }
  if (answer_.output.includes_timings) {
    write_timings(json, timings_, usage_);
  }
}

void CompletionsEncoder::send(std::size_t prompt, const Event& event, std::string_view text,
                              std::vector<Item>& out) {
  const std::size_t index = index_of(prompt, event);
  JsonWriter json(begin_);
  json.begin_array("choices").begin_object().text("text", text).integer("index", index);
  if (answer_.has_log_probabilities && !event.scored.empty()) {
    TokenScores scores;
    for (const ScoredToken& scored : event.scored) {
      scores.add(scored, choices_[index].offset);
    }
    scores.write(json);
  } else {
    json.null("logprobs");
  }
  if (const auto *finished = std::get_if<ChoiceEnded>(&event.what)) {
    json.text("finish_reason", reason_word(finished->reason));
  } else {
    json.null("finish_reason");
  }
  json.end_object().end_array();
  if (answer_.output.includes_usage) {
    json.null("usage");
  }
  json.end_object();
  out.push_back({.data = std::move(json).str()});
}

void CompletionsEncoder::end(const Ended& ended, std::vector<Item>& out) {
  if (ended.failure) {
    has_failed_ = true;
    out.push_back({.data = openai_error_body(*ended.failure)});
    return;
  }
  add_end(ended);
  if (ended_ < answer_.prompts) {
    return;
  }
  if (answer_.output.includes_usage || answer_.output.includes_timings) {
    JsonWriter json(begin_);
    json.begin_array("choices").end_array();
    write_totals(json, answer_.output.includes_usage);
    json.end_object();
    out.push_back({.data = std::move(json).str()});
  }
  out.push_back({.data = std::string(kStreamEnd)});
}

void CompletionsEncoder::stream(std::size_t prompt, const Event& event, std::vector<Item>& out) {
  // One prompt's failure ends the stream of all.
  if (has_failed_) {
    return;
  }
  if (const auto *ended = std::get_if<Ended>(&event.what)) {
    end(*ended, out);
    return;
  }
  const std::string_view text = text_of(event);
  const bool has_scores = answer_.has_log_probabilities && !event.scored.empty();
  if (!text.empty() || has_scores || std::holds_alternative<ChoiceEnded>(event.what)) {
    send(prompt, event, text, out);
  }
}

void CompletionsEncoder::collect(std::size_t prompt, const Event& event) {
  if (const auto *ended = std::get_if<Ended>(&event.what)) {
    add_end(*ended);
    return;
  }
  Choice& choice = choices_[index_of(prompt, event)];
  choice.text += text_of(event);
  if (answer_.has_log_probabilities) {
    for (const ScoredToken& scored : event.scored) {
      choice.scores.add(scored, choice.offset);
    }
  }
  if (const auto *finished = std::get_if<ChoiceEnded>(&event.what)) {
    choice.reason = finished->reason;
  }
}

std::string CompletionsEncoder::body() {
  JsonWriter json(begin_);
  json.begin_array("choices");
  for (std::size_t index = 0; index < choices_.size(); ++index) {
    const Choice& choice = choices_[index];
    json.begin_object().text("text", choice.text).integer("index", index);
    if (answer_.has_log_probabilities) {
      choice.scores.write(json);
    } else {
      json.null("logprobs");
    }
    json.text("finish_reason", reason_word(choice.reason)).end_object();
  }
  json.end_array();
  write_totals(json, true);
  json.end_object();
  return std::move(json).str();
}

}  // namespace zllm::dialect::completions
