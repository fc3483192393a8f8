#include <zllm/dialect/responses/responses.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <zllm/base/text.h>
#include <zllm/dialect/field_reader.h>
#include <zllm/dialect/generation_fields.h>
#include <zllm/dialect/json_writer.h>
#include <zllm/dialect/responses/input_items.h>
#include <zllm/dialect/responses/output_fields.h>
#include <zllm/dialect/responses/response_settings.h>
#include <zllm/dialect/responses/responses_encoder.h>
#include <zllm/dialect/responses/stored_item.h>
#include <zllm/dialect/responses/tool_fields.h>
#include <zllm/dialect/sampling_fields.h>

namespace zllm::dialect::responses {
namespace {

// What goes into the response object as it was given.
struct Echo {
  std::optional<std::string> instructions, previous_response_id;
  std::optional<std::int64_t> max_tool_calls;
};

std::vector<Message> read_previous(FieldReader& fields, Echo& echo, const std::string& caller,
                                   const ResponseStore *store) {
  const std::string_view name = "previous_response_id";
  echo.previous_response_id = fields.text(name);
  if (!echo.previous_response_id.has_value()) {
    return {};
  }
  const std::string& id = *echo.previous_response_id;
  auto previous = store == nullptr ? std::nullopt : store->get(caller, id);
  if (!previous.has_value()) {
    // Of the API: 404 is for what a path names.
    fields.fail(Failure(FailureKind::invalid,
                        concat("Previous response with id ", quote(id), " not found."),
                        fields.path_of(name), "previous_response_not_found"));
    return {};
  }
  if (!previous->is_final) {
    fields.fail(name, concat("the response ", quote(id), " is still in progress"));
    return {};
  }
  return std::move(previous->conversation);
}

bool is_guidance(const Message& turn) {
  return turn.role == Role::system || turn.role == Role::developer;
}

// Instructions and the guidance after them as one turn: many templates know one system message, at
// the start, and fail on or forget the others.
void add_instructions(const std::optional<std::string>& instructions, std::vector<Message>& turns) {
  if (instructions.has_value()) {
    turns.insert(turns.begin(), {.role = Role::system, .content = instructions});
  }
  const auto first_other = std::ranges::find_if_not(turns, is_guidance);
  if (first_other - turns.begin() < 2) {
    return;
  }
  Message whole{.role = Role::system, .content = ""};
  for (auto turn = turns.begin(); turn != first_other; ++turn) {
    whole.content->append(turn == turns.begin() ? "" : "\n\n").append(turn->content.value_or(""));
  }
  turns.erase(turns.begin() + 1, first_other);
  turns.front() = std::move(whole);
}

void read_refused(FieldReader& fields) {
  fields.refuse("conversation", "conversations are not stored; use 'previous_response_id'");
  fields.refuse("prompt", "there are no stored prompt templates");
  fields.refuse("context_management", "the context is what the input is");
  fields.refuse("access_programs", "there are none");
  fields.refuse("background_options", "background responses run as soon as they can");
  fields.refuse("image", "images are not read here");
  fields.refuse("moderation", "nothing is moderated here");
  fields.refuse({"n", "best_of"}, "a response has one answer");
}

void read_limits(FieldReader& fields, Request& request, Echo& echo) {
  const auto most = fields.integer("max_output_tokens", {.least = 1});
  if (most.has_value()) {
    request.max_tokens = static_cast<std::uint64_t>(*most);
  }
  // Of tools that a server runs itself: there are none, so any bound holds.
  echo.max_tool_calls = fields.integer("max_tool_calls", {.least = 1});
}

template <class T, class Write>
void write_or_null(JsonWriter& json, std::string_view name, const std::optional<T>& value,
                   const Write& write) {
  json.key(name);
  value.has_value() ? write(*value) : json.null();
}

void write_sampling(JsonWriter& json, const Request& request) {
  json.number("temperature", request.sampling.temperature.value_or(1));
  json.number("top_p", request.sampling.top_p.value_or(1));
  json.number("presence_penalty", request.sampling.presence_penalty.value_or(0));
  json.number("frequency_penalty", request.sampling.frequency_penalty.value_or(0));
  json.integer("top_logprobs", request.top_log_probabilities.value_or(0));
}

// Members without the object around them.
std::string echo_members(const Json& body, const Request& request, const Echo& echo,
                         const OutputFields& output, const CustomTools& custom) {
  const auto& conversation = *std::get_if<Conversation>(&request.input);
  JsonWriter json;
  const auto text = [&](const std::string& value) -> JsonWriter& { return json.text(value); };
  const auto integer = [&](auto value) -> JsonWriter& { return json.integer(value); };
  json.boolean("background", output.is_background).boolean("store", output.is_stored);
  write_or_null(json, "instructions", echo.instructions, text);
  write_or_null(json, "previous_response_id", echo.previous_response_id, text);
  write_or_null(json, "max_output_tokens", request.max_tokens, integer);
  write_or_null(json, "max_tool_calls", echo.max_tool_calls, integer);
  write_sampling(json, request);
  json.boolean("parallel_tool_calls", conversation.allows_parallel_calls);
  const Json *choice = body.find("tool_choice");
  json.raw("tool_choice", choice == nullptr || choice->is_null() ? "\"auto\"" : choice->dump());
  write_tools(json, conversation, custom);
  json.raw("text", output.text).raw("reasoning", output.reasoning);
  json.text("truncation", conversation.drops_oldest ? "auto" : "disabled");
  json.text("service_tier", "default");
  const Json *metadata = body.find("metadata");
  json.raw("metadata", metadata == nullptr || metadata->is_null() ? "{}" : metadata->dump());
  for (const std::string_view name :
       {"user", "safety_identifier", "prompt_cache_key", "prompt_cache_retention"}) {
    const Json *value = body.find(name);
    json.raw(name, value == nullptr ? "null" : value->dump());
  }
  return std::move(json).str();
}

}  // namespace

Outcome<ResponseExchange> read(const Json& body, const AnswerFacts& facts,
                               const std::string& caller,
                               const std::shared_ptr<ResponseStore>& store) {
  FieldReader fields(body, "");
  Request request;
  Echo echo;
  fields.text("model");
  read_refused(fields);
  auto previous = read_previous(fields, echo, caller, store.get());
  Input input = read_input(fields, std::move(previous), facts.unique, [&](const std::string& id) {
    return store == nullptr ? std::nullopt : find_item(*store, caller, id);
  });
  Conversation conversation{.messages = input.turns};
  echo.instructions = fields.text("instructions");
  add_instructions(echo.instructions, conversation.messages);
  conversation.drops_oldest = fields.word("truncation", {"auto", "disabled"}) == "auto";
  read_tools(fields, conversation);
  request.input = std::move(conversation);
  read_limits(fields, request, echo);
  read_sampling(fields, request.sampling);
  const OutputFields output = read_output_fields(fields, request);
  read_generation(fields, output.is_streaming, request);
  ZLLM_TRY(fields.finish());

  CustomTools custom = custom_tools(body);
  auto encoder = std::make_unique<ResponsesEncoder>(
      ResponseSettings{.facts = facts,
                       .echo = echo_members(body, request, echo, output, custom),
                       .custom_tools = std::move(custom),
                       .has_log_probabilities = request.top_log_probabilities.has_value(),
                       .packs_reasoning = output.packs_reasoning,
                       .is_stored = output.is_stored,
                       .is_background = output.is_background,
                       .events = output.is_background && output.is_streaming
                                     ? std::make_shared<EventLog>()
                                     : nullptr,
                       .caller = caller,
                       .input_items = std::move(input.items),
                       .conversation = std::move(input.turns)},
      store);
  ResponseExchange exchange;
  exchange.id = response_id(facts);
  exchange.is_stored = output.is_stored;
  exchange.is_background = output.is_background;
  if (output.is_background) {
    exchange.queued = encoder->queued();
  }
  exchange.exchange = {.request = std::move(request),
                       .is_streaming = output.is_streaming,
                       .encoder = std::move(encoder)};
  return exchange;
}

}  // namespace zllm::dialect::responses
