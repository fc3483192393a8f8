#include <zllm/dialect/chat/chat_encoder.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

#include <zllm/base/text.h>
#include <zllm/dialect/openai_answer.h>

namespace zllm::dialect::chat {
namespace {

// The members that every object of an answer begins with.
void write_head(JsonWriter& json, const ChatAnswer& answer, std::string_view object) {
  const AnswerFacts& facts = answer.facts;
  json.text("id", concat("chatcmpl-", facts.unique)).text("object", object);
  json.integer("created", facts.created).text("model", facts.model);
  if (answer.names_tier) {
    json.text("service_tier", "default");
  }
  write_fingerprint(json, facts);
}

void write_log_probabilities(JsonWriter& json, std::string_view scored) {
  json.begin_object("logprobs").raw("content", concat("[", scored, "]"));
  json.null("refusal").end_object();
}

std::string delta_of(std::string_view field, std::string_view text) {
  JsonWriter json;
  json.begin_object().text(field, text).end_object();
  return std::move(json).str();
}

// The name and id of a call come alone, before any of its arguments: clients that add up pieces
// lose what comes beside the name.
std::string delta_of(const CallStarted& started) {
  JsonWriter json;
  json.begin_object().begin_array("tool_calls").begin_object();
  json.integer("index", started.call).text("id", started.id).text("type", "function");
  json.begin_object("function").text("name", started.name).text("arguments", "").end_object();
  json.end_object().end_array().end_object();
  return std::move(json).str();
}

std::string delta_of(const CallDelta& delta) {
  JsonWriter json;
  json.begin_object().begin_array("tool_calls").begin_object();
  json.integer("index", delta.call);
  json.begin_object("function").text("arguments", delta.arguments).end_object();
  json.end_object().end_array().end_object();
  return std::move(json).str();
}

// Of calls all tokens are told, those of their syntax too: how sure a model is of a name or an
// argument is asked for.
Scores scores_of(const Event& event) {
  const bool is_of_call = std::holds_alternative<CallStarted>(event.what) ||
                          std::holds_alternative<CallDelta>(event.what) ||
                          std::holds_alternative<CallFinished>(event.what);
  return is_of_call ? Scores::all : Scores::content;
}

bool has_scores(const Event& event) {
  return scores_of(event) == Scores::all
             ? !event.scored.empty()
             : std::ranges::any_of(event.scored, &ScoredToken::is_content);
}

}  // namespace

ChatEncoder::ChatEncoder(ChatAnswer answer)
    : answer_(std::move(answer)), choices_(answer_.choices) {
  JsonWriter json;
  json.begin_object();
  write_head(json, answer_, "chat.completion.chunk");
  chunk_begin_ = json.str() + ",";
}

ChatEncoder::Choice& ChatEncoder::choice_of(const Event& event) {
  if (event.choice >= choices_.size()) {
    choices_.resize(std::size_t{event.choice} + 1);
  }
  return choices_[event.choice];
}

ChatEncoder::Call& ChatEncoder::call_of(Choice& choice, std::uint32_t index) {
  if (index >= choice.calls.size()) {
    choice.calls.resize(std::size_t{index} + 1);
  }
  return choice.calls[index];
}

// reason: empty = the choice goes on.
void ChatEncoder::send(const Event& event, std::string_view delta, std::string_view reason,
                       std::vector<Item>& out) const {
  JsonWriter json(chunk_begin_);
  json.begin_array("choices").begin_object().integer("index", event.choice);
  json.raw("delta", delta);
  std::string scored;
  if (answer_.has_log_probabilities) {
    append_scored(scored, event.scored, scores_of(event));
  }
  // Whoever asked for some is told at the end that there were none.
  const bool tells_none =
      answer_.has_log_probabilities && !reason.empty() && !choices_[event.choice].has_scores;
  if (scored.empty() && !tells_none) {
    json.null("logprobs");
  } else {
    write_log_probabilities(json, scored);
  }
  if (reason.empty()) {
    json.null("finish_reason");
  } else {
    json.text("finish_reason", reason);
  }
  json.end_object().end_array();
  if (answer_.output.includes_usage) {
    json.null("usage");
  }
  json.end_object();
  out.push_back({.data = std::move(json).str()});
}

void ChatEncoder::end(const Ended& ended, std::vector<Item>& out) {
  if (ended.failure) {
    out.push_back({.data = openai_error_body(*ended.failure)});
    return;
  }
  const OutputOptions& output = answer_.output;
  if (output.includes_usage || output.includes_timings) {
    JsonWriter json(chunk_begin_);
    json.begin_array("choices").end_array();
    if (output.includes_usage) {
      write_usage(json, ended.usage);
    }
    if (output.includes_timings) {
      write_timings(json, ended.timings, ended.usage);
    }
    json.end_object();
    out.push_back({.data = std::move(json).str()});
  }
  out.push_back({.data = std::string(kStreamEnd)});
}

void ChatEncoder::stream(const Event& event, std::vector<Item>& out) {
  if (const auto *ended = std::get_if<Ended>(&event.what)) {
    end(*ended, out);
    return;
  }
  Choice& choice = choice_of(event);
  if (!choice.is_open) {
    choice.is_open = true;
    send({.choice = event.choice, .scored = {}, .what = Started{}},
         R"({"role":"assistant","content":""})", "", out);
  }
  choice.has_scores = choice.has_scores || has_scores(event);
  if (const auto *content = std::get_if<ContentDelta>(&event.what)) {
    send(event, delta_of("content", content->text), "", out);
  } else if (const auto *reasoning = std::get_if<ReasoningDelta>(&event.what)) {
    send(event, delta_of("reasoning_content", reasoning->text), "", out);
  } else if (const auto *started = std::get_if<CallStarted>(&event.what)) {
    send(event, delta_of(*started), "", out);
  } else if (const auto *delta = std::get_if<CallDelta>(&event.what)) {
    send(event, delta_of(*delta), "", out);
  } else if (const auto *finished = std::get_if<ChoiceEnded>(&event.what)) {
    send(event, "{}", finish_reason(finished->reason), out);
  } else if (answer_.has_log_probabilities && has_scores(event)) {
    send(event, "{}", "", out);
  }
}

void ChatEncoder::collect(const Event& event) {
  if (const auto *ended = std::get_if<Ended>(&event.what)) {
    ended_ = *ended;
    return;
  }
  Choice& choice = choice_of(event);
  if (answer_.has_log_probabilities) {
    append_scored(choice.scored, event.scored, scores_of(event));
  }
  if (const auto *content = std::get_if<ContentDelta>(&event.what)) {
    choice.content += content->text;
  } else if (const auto *reasoning = std::get_if<ReasoningDelta>(&event.what)) {
    choice.reasoning += reasoning->text;
  } else if (const auto *started = std::get_if<CallStarted>(&event.what)) {
    Call& call = call_of(choice, started->call);
    call.id = started->id;
    call.name = started->name;
  } else if (const auto *delta = std::get_if<CallDelta>(&event.what)) {
    call_of(choice, delta->call).arguments += delta->arguments;
  } else if (const auto *finished = std::get_if<ChoiceEnded>(&event.what)) {
    choice.reason = finished->reason;
  }
}

void ChatEncoder::write_choice(JsonWriter& json, std::uint32_t index, const Choice& choice) const {
  json.begin_object().integer("index", index);
  json.begin_object("message").text("role", "assistant");
  if (choice.content.empty() && !choice.calls.empty()) {
    json.null("content");
  } else {
    json.text("content", choice.content);
  }
  json.null("refusal");
  if (!choice.reasoning.empty()) {
    json.text("reasoning_content", choice.reasoning);
  }
  if (!choice.calls.empty()) {
    json.begin_array("tool_calls");
    for (const Call& call : choice.calls) {
      json.begin_object().text("id", call.id).text("type", "function");
      json.begin_object("function").text("name", call.name).text("arguments", call.arguments);
      json.end_object().end_object();
    }
    json.end_array();
  }
  json.end_object();
  if (answer_.has_log_probabilities) {
    write_log_probabilities(json, choice.scored);
  } else {
    json.null("logprobs");
  }
  json.text("finish_reason", finish_reason(choice.reason)).end_object();
}

std::string ChatEncoder::body() {
  JsonWriter json;
  json.begin_object();
  write_head(json, answer_, "chat.completion");
  json.begin_array("choices");
  for (std::uint32_t index = 0; index < choices_.size(); ++index) {
    write_choice(json, index, choices_[index]);
  }
  json.end_array();
  write_usage(json, ended_.usage);
  if (answer_.output.includes_timings) {
    write_timings(json, ended_.timings, ended_.usage);
  }
  json.end_object();
  return std::move(json).str();
}

}  // namespace zllm::dialect::chat
