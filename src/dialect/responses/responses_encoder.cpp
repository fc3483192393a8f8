#include <zllm/dialect/responses/responses_encoder.h>

#include <cmath>
#include <utility>

#include <zllm/base/text.h>
#include <zllm/dialect/openai_answer.h>
#include <zllm/dialect/responses/packed_reasoning.h>

namespace zllm::dialect::responses {
namespace {

bool is_final(std::string_view status) { return status != "queued" && status != "in_progress"; }

// The words that the API has for why a response failed.
std::string_view error_code(const Failure& failure) {
  switch (failure.kind) {
    case FailureKind::invalid:
    case FailureKind::too_long:
    case FailureKind::unsupported:
    case FailureKind::not_found:
      return "invalid_prompt";
    case FailureKind::busy:
      return "rate_limit_exceeded";
    case FailureKind::loading:
    case FailureKind::deadline:
    case FailureKind::shut_down:
    case FailureKind::out_of_memory:
    case FailureKind::internal:
      return "server_error";
  }
  return "server_error";
}

// A response that nobody cut and that did not fail has ended as its choice did; one without a
// choice was cancelled before it began.
std::string_view final_status(const Ended& ended, const std::optional<ChoiceEnded>& end) {
  if (ended.failure.has_value()) {
    return "failed";
  }
  if (!end.has_value() || end->reason == StopReason::cancelled) {
    return "cancelled";
  }
  return end->reason == StopReason::length ? "incomplete" : "completed";
}

// The API's streams know three ends, of which none is told of cancelled responses: "incomplete" is
// the one that all clients take for an end that is neither the whole answer nor an error.
std::string_view final_event(std::string_view status) {
  if (status == "failed") {
    return "response.failed";
  }
  return status == "completed" ? "response.completed" : "response.incomplete";
}

void write_response_usage(JsonWriter& json, const Usage& usage) {
  json.begin_object("usage").integer("input_tokens", usage.prompt_tokens);
  json.begin_object("input_tokens_details").integer("cached_tokens", usage.cached_tokens);
  // What is kept is kept for nothing.
  json.integer("cache_write_tokens", 0);
  json.end_object().integer("output_tokens", usage.completion_tokens);
  json.begin_object("output_tokens_details");
  json.integer("reasoning_tokens", usage.reasoning_tokens).end_object();
  json.integer("total_tokens", usage.prompt_tokens + usage.completion_tokens).end_object();
}

Message answer_turn(const std::vector<OutputItem>& items) {
  Message turn{.role = Role::assistant};
  for (const OutputItem& item : items) {
    switch (item.kind) {
      case ItemKind::reasoning:
        turn.reasoning += item.text;
        break;
      case ItemKind::message:
        turn.content = turn.content.value_or("") + item.text;
        break;
      case ItemKind::call:
        turn.tool_calls.push_back({item.call_id, item.name, item.text});
        break;
      case ItemKind::custom_call:
        turn.tool_calls.push_back({item.call_id, item.name, item.arguments});
        break;
    }
  }
  return turn;
}

}  // namespace

std::string response_id(const AnswerFacts& facts) { return concat("resp_", facts.unique); }

ResponsesEncoder::ResponsesEncoder(ResponseSettings settings, std::shared_ptr<ResponseStore> store)
    : settings_(std::move(settings)),
      store_(std::move(store)),
      status_(settings_.is_background ? "queued" : "in_progress") {}

void ResponsesEncoder::stream(const Event& event, std::vector<Item>& out) {
  out_ = &out;
  take(event);
  out_ = nullptr;
}

void ResponsesEncoder::collect(const Event& event) { take(event); }

void ResponsesEncoder::take(const Event& event) {
  note_scored(event);
  std::visit([this](const auto& what) { on(what); }, event.what);
}

void ResponsesEncoder::note_scored(const Event& event) {
  if (settings_.has_log_probabilities) {
    append_scored(scored_, event.scored, Scores::content);
  }
}

void ResponsesEncoder::on(const Started&) { start_response(); }

void ResponsesEncoder::on(const ContentDelta& delta) {
  add_text(ItemKind::message, "response.output_text.delta", delta.text);
}

void ResponsesEncoder::on(const ReasoningDelta& delta) {
  add_text(ItemKind::reasoning, "response.reasoning_text.delta", delta.text);
}

void ResponsesEncoder::on(const CallStarted& call) {
  const bool is_custom = settings_.custom_tools.contains(call.name);
  input_ = {};
  start_item({.kind = is_custom ? ItemKind::custom_call : ItemKind::call,
              .call_id = call.id,
              .name = call.name,
              .call = call.call});
}

void ResponsesEncoder::on(const CallDelta& delta) {
  if (delta.arguments.empty() || !is_in_call(delta.call)) {
    return;
  }
  OutputItem& item = items_.back();
  if (item.kind == ItemKind::custom_call) {
    item.arguments += delta.arguments;
    add_call_text("response.custom_tool_call_input.delta", input_.add(delta.arguments));
  } else {
    add_call_text("response.function_call_arguments.delta", delta.arguments);
  }
}

void ResponsesEncoder::add_call_text(std::string_view event, const std::string& text) {
  if (text.empty()) {
    return;
  }
  items_.back().text += text;
  JsonWriter json = begin_item_event(event);
  json.text("delta", text);
  send(event, std::move(json));
}

void ResponsesEncoder::on(const CallFinished& call) {
  if (is_in_call(call.call)) {
    stop_item(call.is_cut ? "incomplete" : "completed");
  }
}

void ResponsesEncoder::on(const ChoiceEnded& end) {
  const bool is_cut = end.reason == StopReason::length || end.reason == StopReason::cancelled;
  stop_item(is_cut ? "incomplete" : "completed");
  end_ = end;
}

void ResponsesEncoder::on(const Ended& ended) {
  start_response();
  stop_item(ended.failure.has_value() ? "incomplete" : "completed");
  const std::string_view status = final_status(ended, end_);
  if (items_.empty() && (status == "completed" || status == "incomplete")) {
    // An answer without text is still an answer: clients look for its message.
    start_item({.kind = ItemKind::message});
    start_part();
    stop_item(status);
  }
  status_ = status;
  ended_ = ended;
  keep();
  send_response(final_event(status));
  if (settings_.events != nullptr) {
    settings_.events->close();
  }
}

void ResponsesEncoder::abandon() {
  if (!ended_.has_value() && is_kept_) {
    stop_item("incomplete");
    status_ = "cancelled";
    keep();
  }
}

void ResponsesEncoder::start_response() {
  if (std::exchange(is_started_, true)) {
    return;
  }
  send_response("response.created");
  if (settings_.is_background) {
    send_response("response.queued");
  }
  status_ = "in_progress";
  keep();
  send_response("response.in_progress");
}

void ResponsesEncoder::add_text(ItemKind kind, std::string_view event, const std::string& text) {
  if (text.empty()) {
    return;
  }
  OutputItem& item = enter(kind);
  item.text += text;
  JsonWriter json = begin_item_event(event);
  json.integer("content_index", 0).text("delta", text);
  if (kind == ItemKind::message) {
    json.raw("logprobs", concat("[", scored_, "]"));
    item.scored += item.scored.empty() || scored_.empty() ? "" : ",";
    item.scored += std::exchange(scored_, {});
  }
  send(event, std::move(json));
}

// The open item if it is of the kind, else a new one.
OutputItem& ResponsesEncoder::enter(ItemKind kind) {
  if (!is_open_ || items_.back().kind != kind) {
    start_item({.kind = kind});
    start_part();
  }
  return items_.back();
}

void ResponsesEncoder::start_item(OutputItem item) {
  start_response();
  stop_item("completed");
  item.id = concat(id_prefix(item.kind), settings_.facts.unique, "_", items_.size());
  items_.push_back(std::move(item));
  is_open_ = true;
  send_item("response.output_item.added");
}

void ResponsesEncoder::start_part() {
  const std::string_view type = "response.content_part.added";
  JsonWriter json = begin_item_event(type);
  json.integer("content_index", 0).key("part");
  write_part(json, items_.back(), "", "");
  items_.back().has_content = true;
  send(type, std::move(json));
}

void ResponsesEncoder::stop_item(std::string_view status) {
  if (!std::exchange(is_open_, false)) {
    return;
  }
  OutputItem& item = items_.back();
  if (item.kind == ItemKind::call) {
    const std::string_view type = "response.function_call_arguments.done";
    JsonWriter json = begin_item_event(type);
    json.text("name", item.name).text("arguments", item.text);
    send(type, std::move(json));
  } else if (item.kind == ItemKind::custom_call) {
    const std::string_view type = "response.custom_tool_call_input.done";
    JsonWriter json = begin_item_event(type);
    json.text("input", item.text);
    send(type, std::move(json));
  } else {
    stop_part(item);
  }
  if (item.kind == ItemKind::reasoning && settings_.packs_reasoning) {
    item.packed = pack_reasoning(item.text);
  }
  item.status = status;
  send_item("response.output_item.done");
}

void ResponsesEncoder::stop_part(const OutputItem& item) {
  const bool is_message = item.kind == ItemKind::message;
  const std::string_view text_type =
      is_message ? "response.output_text.done" : "response.reasoning_text.done";
  JsonWriter text = begin_item_event(text_type);
  text.integer("content_index", 0).text("text", item.text);
  if (is_message) {
    text.raw("logprobs", concat("[", item.scored, "]"));
  }
  send(text_type, std::move(text));
  const std::string_view part_type = "response.content_part.done";
  JsonWriter part = begin_item_event(part_type);
  part.integer("content_index", 0).key("part");
  write_part(part, item, item.text, item.scored);
  send(part_type, std::move(part));
}

bool ResponsesEncoder::is_in_call(std::uint32_t call) const {
  return is_open_ && is_call(items_.back().kind) && items_.back().call == call;
}

JsonWriter ResponsesEncoder::begin_event(std::string_view type) {
  JsonWriter json;
  json.begin_object().text("type", type).integer("sequence_number", sequence_number_);
  return json;
}

JsonWriter ResponsesEncoder::begin_item_event(std::string_view type) {
  JsonWriter json = begin_event(type);
  json.text("item_id", items_.back().id).integer("output_index", items_.size() - 1);
  return json;
}

// Closes the event.
void ResponsesEncoder::send(std::string_view type, JsonWriter json) {
  if (!is_streamed()) {
    return;
  }
  ++sequence_number_;
  Item item{std::string(type), std::move(json.end_object()).str()};
  if (settings_.events != nullptr) {
    settings_.events->append(item);
  }
  if (out_ != nullptr) {
    out_->push_back(std::move(item));
  }
}

void ResponsesEncoder::send_response(std::string_view type) {
  if (!is_streamed()) {
    return;
  }
  JsonWriter json = begin_event(type);
  json.raw("response", response());
  send(type, std::move(json));
}

void ResponsesEncoder::send_item(std::string_view type) {
  JsonWriter json = begin_event(type);
  json.integer("output_index", items_.size() - 1).key("item");
  write_item(json, items_.back());
  send(type, std::move(json));
}

std::string ResponsesEncoder::response() const {
  JsonWriter json;
  json.begin_object().text("id", response_id(settings_.facts)).text("object", "response");
  json.integer("created_at", settings_.facts.created).text("status", status_);
  if (status_ == "completed") {
    const AnswerTimings& timings = ended_->timings;
    const double seconds = timings.queue_seconds + timings.prefill_seconds + timings.decode_seconds;
    json.integer("completed_at", settings_.facts.created + std::llround(seconds));
  } else {
    json.null("completed_at");
  }
  if (status_ == "failed") {
    json.begin_object("error").text("code", error_code(*ended_->failure));
    json.text("message", ended_->failure->message).end_object();
  } else {
    json.null("error");
  }
  if (status_ == "incomplete") {
    json.raw("incomplete_details", R"({"reason":"max_output_tokens"})");
  } else {
    json.null("incomplete_details");
  }
  json.text("model", settings_.facts.model).begin_array("output");
  for (const OutputItem& item : items_) {
    write_item(json, item);
  }
  json.end_array().raw(settings_.echo);
  if (ended_.has_value()) {
    write_response_usage(json, ended_->usage);
  } else {
    json.null("usage");
  }
  return std::move(json.end_object()).str();
}

StoredResponse ResponsesEncoder::snapshot() const {
  StoredResponse stored{.body = response(),
                        .input_items = settings_.input_items,
                        .conversation = settings_.conversation,
                        .is_final = is_final(status_),
                        .is_cancelled = status_ == "cancelled",
                        .is_background = settings_.is_background,
                        .events = settings_.events};
  if (!items_.empty()) {
    stored.conversation.push_back(answer_turn(items_));
  }
  return stored;
}

void ResponsesEncoder::keep() {
  if (!settings_.is_stored || store_ == nullptr) {
    return;
  }
  const std::string id = response_id(settings_.facts);
  // What was put before and is gone was deleted; a background response was put when it was queued.
  if (std::exchange(is_kept_, true) || settings_.is_background) {
    store_->replace(settings_.caller, id, snapshot());
  } else {
    store_->put(settings_.caller, id, snapshot());
  }
}

}  // namespace zllm::dialect::responses
