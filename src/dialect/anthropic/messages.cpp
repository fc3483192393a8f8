#include <zllm/dialect/anthropic/messages.h>

#include <utility>

#include <zllm/base/text.h>
#include <zllm/dialect/anthropic/conversation.h>
#include <zllm/dialect/anthropic/messages_encoder.h>
#include <zllm/dialect/anthropic/tools.h>
#include <zllm/dialect/field_reader.h>
#include <zllm/dialect/generation_fields.h>
#include <zllm/dialect/json_writer.h>

namespace zllm::dialect::anthropic {
namespace {

// The API's own least is 1024, sized for its models; any budget is as well defined here.
constexpr std::int64_t kLeastBudget = 1;
// Less than the share that any vocabulary leaves to its likeliest token: what top_p 0 means.
constexpr double kLeastTopP = 1e-9;

// Whether thinking is to be told.
bool read_thinking(FieldReader& fields, ReasoningOptions& reasoning) {
  reasoning.is_enabled = false;
  const Json *value = fields.object("thinking");
  if (value == nullptr) {
    return true;
  }
  FieldReader thinking(*value, fields.path_of("thinking"));
  thinking.require("type");
  const auto type = thinking.word("type", {"enabled", "disabled", "adaptive"});
  reasoning.is_enabled = type != "disabled";
  bool is_told = true;
  if (type == "enabled") {
    thinking.require("budget_tokens");
    const auto budget = thinking.integer("budget_tokens", {.least = kLeastBudget});
    if (budget.has_value()) {
      reasoning.budget = static_cast<std::uint64_t>(*budget);
    }
  }
  if (type != "disabled") {
    is_told = thinking.word("display", {"summarized", "omitted"}) != "omitted";
  }
  fields.keep(thinking.finish());
  return is_told;
}

void read_format(FieldReader& fields, const Json& value, const std::string& path,
                 ResponseFormat& format) {
  FieldReader reader(value, path);
  reader.require("type");
  reader.word("type", {"json_schema"});
  reader.require("schema");
  if (const Json *schema = reader.object("schema"); schema != nullptr) {
    format = {FormatKind::json_schema, schema->dump()};
  }
  fields.keep(reader.finish());
}

void read_output_options(FieldReader& fields, Request& request) {
  const Json *config = fields.object("output_config");
  if (config != nullptr) {
    FieldReader reader(*config, fields.path_of("output_config"));
    const auto effort = reader.word("effort", {"low", "medium", "high", "xhigh", "max"});
    if (effort.has_value()) {
      request.reasoning.effort = std::string(*effort);
    }
    if (const Json *format = reader.object("format"); format != nullptr) {
      read_format(reader, *format, reader.path_of("format"), request.format);
    }
    fields.keep(reader.finish());
  }
  const Json *format = fields.object("output_format");  // its name before output_config
  if (format != nullptr) {
    if (request.format.kind != FormatKind::text) {
      fields.fail("output_format", "output_config.format says it already");
    }
    read_format(fields, *format, fields.path_of("output_format"), request.format);
  }
}

// An assistant's text at the end is what the answer goes on with.
void read_prefill(FieldReader& fields, Conversation& conversation) {
  if (conversation.messages.empty() || conversation.messages.back().role != Role::assistant) {
    return;
  }
  const Message& last = conversation.messages.back();
  if (!last.tool_calls.empty()) {
    fields.fail("messages", "tool_use blocks at the end have no tool_result after them");
  } else if (last.content.value_or("").empty() && last.reasoning.empty()) {
    conversation.messages.pop_back();
    if (conversation.messages.empty()) {
      fields.fail("messages", "there is nothing to answer");
    }
  } else if (last.content.value_or("").empty()) {
    fields.fail("messages", "the last message has no text to go on with");
  } else if (kWhitespace.find(last.content->back()) != std::string_view::npos) {
    fields.fail("messages", "the assistant's text at the end cannot end with whitespace");
  } else {
    conversation.continues_last_message = true;
  }
}

// Keeping all thinking is what happens anyway; all other edits would drop some of the context.
void read_context_management(FieldReader& fields) {
  const Json *value = fields.object("context_management");
  if (value == nullptr) {
    return;
  }
  FieldReader management(*value, fields.path_of("context_management"));
  const Json::Array *edits = management.array("edits");
  for (std::size_t i = 0; edits != nullptr && i < edits->size(); ++i) {
    FieldReader edit((*edits)[i], concat(management.path_of("edits"), ".", i));
    edit.require("type");
    if (edit.ok() &&
        (edit.text("type") != "clear_thinking_20251015" || edit.text("keep") != "all")) {
      edit.fail(unsupported_field(edit.path(), "nothing of the context is cleared"));
    }
    fields.keep(edit.finish());
  }
  fields.keep(management.finish());
}

// What count_tokens and messages share. Whether thinking is to be told.
bool read_prompt(FieldReader& fields, Request& request) {
  fields.require("model");
  static_cast<void>(fields.text("model"));
  Conversation conversation;
  conversation.messages = read_turns(fields);
  read_tools(fields, conversation);
  const bool is_told = read_thinking(fields, request.reasoning);
  read_output_options(fields, request);
  read_cache_control(fields);
  fields.refuse("container", "there are no containers");
  fields.refuse("mcp_servers", "the server connects to no other");
  fields.refuse("thread", "conversations are not held by the server");
  fields.refuse("diagnostics", "caches are not diagnosed");
  fields.refuse("inference_geo", "the model runs where the server does");
  if (fields.word("speed", {"standard", "fast"}) == "fast") {
    fields.fail(unsupported_field(fields.path_of("speed"), "there is only 'standard'"));
  }
  read_context_management(fields);
  read_prefill(fields, conversation);
  request.input = std::move(conversation);
  return is_told;
}

void read_stop(FieldReader& fields, Request& request) {
  const Json::Array *sequences = fields.array("stop_sequences", kMaxStops);
  if (sequences == nullptr) {
    return;
  }
  for (std::size_t i = 0; i < sequences->size(); ++i) {
    std::string path = concat(fields.path_of("stop_sequences"), ".", i);
    auto text = fields.keep(read_text((*sequences)[i], path));
    if (text.has_value() && (text->empty() || text->size() > kMaxStopBytes)) {
      fields.fail(wrong_value(std::move(path), concat("must have 1 to ", kMaxStopBytes, " bytes")));
    }
    request.stop.push_back(std::move(text).value_or(""));
  }
}

void read_user_metadata(FieldReader& fields) {
  if (const Json *metadata = fields.object("metadata"); metadata != nullptr) {
    FieldReader reader(*metadata, fields.path_of("metadata"));
    static_cast<void>(reader.text("user_id"));
    fields.keep(reader.finish());
  }
}

void read_limits(FieldReader& fields, Request& request) {
  fields.require("max_tokens");
  const auto max_tokens = fields.integer("max_tokens", {.least = 1});
  if (max_tokens.has_value()) {
    request.max_tokens = static_cast<std::uint64_t>(*max_tokens);
  }
  if (request.reasoning.budget.has_value() && max_tokens.has_value() &&
      *request.reasoning.budget >= *request.max_tokens) {
    fields.fail(wrong_value("thinking.budget_tokens", "must be less than max_tokens"));
  }
}

}  // namespace

Outcome<Exchange> read(const Json& body, const AnswerFacts& facts) {
  FieldReader fields(body, "");
  Exchange exchange;
  Request& request = exchange.request;
  const bool is_told = read_prompt(fields, request);
  read_limits(fields, request);
  request.sampling.temperature = fields.number("temperature", {.least = 0, .most = 1});
  request.sampling.top_p = fields.number("top_p", {.least = 0, .most = 1});
  if (request.sampling.top_p == 0.0) {
    request.sampling.top_p = kLeastTopP;
  }
  request.sampling.top_k = fields.integer("top_k");
  read_stop(fields, request);
  read_user_metadata(fields);
  static_cast<void>(fields.word("service_tier", {"auto", "standard_only"}));
  exchange.is_streaming = fields.boolean("stream").value_or(false);
  ZLLM_TRY(fields.finish());
  exchange.encoder = make_messages_encoder(facts, is_told);
  return exchange;
}

Outcome<Request> read_count(const Json& body) {
  FieldReader fields(body, "");
  Request request;
  static_cast<void>(read_prompt(fields, request));
  ZLLM_TRY(fields.finish());
  return request;
}

std::string count_body(std::uint64_t input_tokens) {
  return JsonWriter().begin_object().integer("input_tokens", input_tokens).end_object().str();
}

}  // namespace zllm::dialect::anthropic
