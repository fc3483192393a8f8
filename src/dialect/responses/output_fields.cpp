#include <zllm/dialect/responses/output_fields.h>

#include <cstddef>
#include <string_view>

#include <zllm/base/text.h>
#include <zllm/dialect/generation_fields.h>
#include <zllm/dialect/json_writer.h>

namespace zllm::dialect::responses {
namespace {

// Of the API.
constexpr std::int64_t kMaxTopLogProbabilities = 20;

void read_schema_format(FieldReader& reader, ResponseFormat& format) {
  reader.require("name");
  reader.require("schema");
  const auto name = reader.text("name");
  if (name.has_value() && !is_plain_name(*name)) {
    reader.fail("name", kPlainNameRule);
  }
  reader.text("description");
  // Held to in any case: a schema that is only asked for helps nobody.
  reader.boolean("strict");
  if (const Json *schema = reader.object("schema"); schema != nullptr) {
    format = {FormatKind::json_schema, schema->dump()};
  }
}

// The format as the response repeats it.
std::string read_format(FieldReader& text, ResponseFormat& format) {
  const Json *value = text.object("format");
  if (value == nullptr) {
    return R"({"type":"text"})";
  }
  FieldReader reader(*value, text.path_of("format"));
  reader.require("type");
  const auto type = reader.word("type", {"text", "json_object", "json_schema"});
  if (type == "json_object") {
    format.kind = FormatKind::json_object;
  } else if (type == "json_schema") {
    read_schema_format(reader, format);
  }
  text.keep(reader.finish());
  return value->dump();
}

std::string read_text_options(FieldReader& fields, Request& request) {
  std::string format = R"({"type":"text"})";
  if (const Json *value = fields.object("text"); value != nullptr) {
    FieldReader text(*value, fields.path_of("text"));
    format = read_format(text, request.format);
    const auto verbosity = text.word("verbosity", {"low", "medium", "high"});
    if (verbosity.value_or("medium") != "medium") {
      text.fail(unsupported_field(text.path_of("verbosity"),
                                  "no model here knows another than 'medium'"));
    }
    fields.keep(text.finish());
  }
  JsonWriter json;
  json.begin_object().raw("format", format).text("verbosity", "medium");
  return std::move(json.end_object()).str();
}

void write_word(JsonWriter& json, std::string_view name, std::optional<std::string_view> word) {
  json.key(name);
  word.has_value() ? json.text(*word) : json.null();
}

std::string read_reasoning(FieldReader& fields, ReasoningOptions& reasoning) {
  std::optional<std::string_view> effort, summary;
  if (const Json *value = fields.object("reasoning"); value != nullptr) {
    FieldReader reader(*value, fields.path_of("reasoning"));
    effort = reader.word("effort", {"none", "minimal", "low", "medium", "high", "xhigh", "max"});
    // Reasoning is told whole, as content: there is nothing to sum up for those who ask.
    summary =
        reader.word(reader.either("summary", "generate_summary"), {"auto", "concise", "detailed"});
    if (reader.word("context", {"auto", "current_turn", "all_turns"}).value_or("auto") != "auto") {
      reader.fail(unsupported_field(reader.path_of("context"), "the model's template chooses"));
    }
    if (reader.text("mode").value_or("standard") != "standard") {
      reader.fail(unsupported_field(reader.path_of("mode"), "there is only 'standard'"));
    }
    fields.keep(reader.finish());
  }
  if (effort == "none") {
    reasoning.is_enabled = false;
  } else if (effort.has_value()) {
    reasoning.is_enabled = true;  // where a template does not think unless it is asked to
    reasoning.effort = std::string(*effort);
  }
  JsonWriter json;
  json.begin_object();
  write_word(json, "effort", effort);
  write_word(json, "summary", summary);
  return std::move(json.end_object()).str();
}

void read_include(FieldReader& fields, Request& request, OutputFields& output) {
  const auto top = fields.integer("top_logprobs", {.most = kMaxTopLogProbabilities});
  if (top.value_or(0) > 0) {
    request.top_log_probabilities = static_cast<std::uint32_t>(*top);
  }
  const Json::Array *include = fields.array("include");
  for (std::size_t i = 0; include != nullptr && i < include->size(); ++i) {
    const std::string path = element_path("include", i);
    const std::string name = fields.keep(read_text((*include)[i], path)).value_or("");
    if (name == "message.output_text.logprobs") {
      request.top_log_probabilities = static_cast<std::uint32_t>(top.value_or(0));
    } else if (name == "reasoning.encrypted_content") {
      output.packs_reasoning = true;
    } else {
      fields.fail(unsupported_field(path, concat(quote(name), " does not exist here")));
    }
  }
}

void read_stream_options(FieldReader& fields, bool is_streaming) {
  const Json *options = fields.object("stream_options");
  if (options == nullptr) {
    return;
  }
  if (!is_streaming) {
    fields.fail("stream_options", "only allowed when 'stream' is true");
    return;
  }
  FieldReader reader(*options, fields.path_of("stream_options"));
  if (reader.boolean("include_obfuscation").value_or(false)) {
    reader.fail(unsupported_field(reader.path_of("include_obfuscation"), "streams are not padded"));
  }
  fields.keep(reader.finish());
}

// Every prefix is kept while it fits: no promise of a time can be made.
void read_cache_options(FieldReader& fields) {
  const Json *options = fields.object("prompt_cache_options");
  if (options == nullptr) {
    return;
  }
  FieldReader reader(*options, fields.path_of("prompt_cache_options"));
  if (reader.word("mode", {"implicit", "explicit"}) == "explicit") {
    reader.fail(unsupported_field(reader.path_of("mode"), "prefixes are found without marks"));
  }
  reader.refuse("ttl", "prefixes are kept while they fit");
  reader.refuse("comparison_response_id", "caches are not diagnosed");
  if (reader.boolean("prewarm").value_or(false)) {
    reader.fail(unsupported_field(reader.path_of("prewarm"), "a response has an answer"));
  }
  fields.keep(reader.finish());
}

void read_account(FieldReader& fields) {
  // Names for the client's own users and caches: nothing of the answer depends on them.
  for (const std::string_view name : {"user", "safety_identifier", "prompt_cache_key"}) {
    fields.text(name);
  }
  // The most that a prefix may be kept.
  fields.word("prompt_cache_retention", {"in_memory", "in-memory", "24h"});
  read_cache_options(fields);
  fields.object("client_metadata");  // what Codex tells of itself
  fields.word("service_tier", {"auto", "default"});
  read_metadata(fields);
}

}  // namespace

OutputFields read_output_fields(FieldReader& fields, Request& request) {
  OutputFields output;
  output.text = read_text_options(fields, request);
  output.reasoning = read_reasoning(fields, request.reasoning);
  read_include(fields, request, output);
  output.is_streaming = fields.boolean("stream").value_or(false);
  read_stream_options(fields, output.is_streaming);
  output.is_stored = fields.boolean("store").value_or(true);
  output.is_background = fields.boolean("background").value_or(false);
  if (output.is_background && !output.is_stored) {
    fields.fail("background", "a background response has to be stored: 'store' must be true");
  }
  read_account(fields);
  return output;
}

}  // namespace zllm::dialect::responses
