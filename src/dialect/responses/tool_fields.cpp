#include <zllm/dialect/responses/tool_fields.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <zllm/base/text.h>

namespace zllm::dialect::responses {
namespace {

bool has_tool(const Conversation& conversation, std::string_view name) {
  return std::ranges::find(conversation.tools, name, &Tool::name) != conversation.tools.end();
}

// Fails on types of tools other than functions: the server runs none itself.
void read_type(FieldReader& reader) {
  reader.require("type");
  const auto type = reader.text("type");
  if (type.has_value() && *type != "function") {
    reader.fail(unsupported_field(reader.path_of("type"),
                                  concat("tools of type ", quote(*type), " are not called")));
  }
}

// Fields of newer tools whose plain value changes nothing.
void read_plain_extras(FieldReader& reader) {
  if (reader.boolean("defer_loading").value_or(false)) {
    reader.fail(unsupported_field(reader.path_of("defer_loading"), "there is no tool search"));
  }
  if (reader.boolean("async").value_or(false)) {
    reader.fail(unsupported_field(reader.path_of("async"), "an answer ends with its calls"));
  }
  const Json::Array *callers = reader.array("allowed_callers");
  for (std::size_t i = 0; callers != nullptr && i < callers->size(); ++i) {
    const std::string *caller = (*callers)[i].as_string();
    if (caller == nullptr || *caller != "direct") {
      reader.fail(unsupported_field(element_path(reader.path_of("allowed_callers"), i),
                                    "only 'direct' is supported"));
    }
  }
  reader.refuse("output_schema", "templates do not tell what a function returns");
}

Outcome<Tool> read_tool(const Json& value, std::string path) {
  FieldReader reader(value, std::move(path));
  Tool tool;
  read_type(reader);
  reader.require("name");
  tool.name = reader.text("name").value_or("");
  if (!is_plain_name(tool.name)) {
    reader.fail("name", kPlainNameRule);
  }
  tool.description = reader.text("description").value_or("");
  if (const Json *parameters = reader.object("parameters"); parameters != nullptr) {
    tool.parameters = parameters->dump();
  }
  read_plain_extras(reader);
  // Unlike in Chat Completions, strict unless said otherwise.
  tool.is_strict = reader.boolean("strict").value_or(true) && !tool.parameters.empty();
  ZLLM_TRY(reader.finish());
  return tool;
}

// {"type": "function", "name"}, of a tool that the request has.
Outcome<std::string> read_tool_name(const Json& value, std::string path,
                                    const Conversation& conversation) {
  FieldReader reader(value, std::move(path));
  read_type(reader);
  reader.require("name");
  std::string name = reader.text("name").value_or("");
  if (!has_tool(conversation, name)) {
    reader.fail("name", concat("no tool is called ", quote(name)));
  }
  ZLLM_TRY(reader.finish());
  return name;
}

ToolRule rule_of(std::string_view word) {
  if (word == "none") {
    return ToolRule::none;
  }
  return word == "required" ? ToolRule::required : ToolRule::automatic;
}

// {"type": "allowed_tools", "mode": "auto" | "required", "tools": [...]}
Outcome<ToolChoice> read_allowed_tools(FieldReader& reader, const Conversation& conversation) {
  ToolChoice choice;
  reader.require("mode");
  choice.rule = rule_of(reader.word("mode", {"auto", "required"}).value_or("auto"));
  reader.require("tools");
  const Json::Array *tools = reader.array("tools", kMaxTools);
  if (tools != nullptr && tools->empty()) {
    reader.fail("tools", "must name at least one tool");
  }
  for (std::size_t i = 0; tools != nullptr && i < tools->size(); ++i) {
    ZLLM_TRY(std::string name,
             read_tool_name((*tools)[i], element_path(reader.path_of("tools"), i), conversation));
    choice.names.push_back(std::move(name));
  }
  ZLLM_TRY(reader.finish());
  return choice;
}

Outcome<ToolChoice> read_choice_object(const Json& value, std::string path,
                                       const Conversation& conversation) {
  const Json *type = value.find("type");
  if (type != nullptr && type->as_string() != nullptr && *type->as_string() == "allowed_tools") {
    FieldReader reader(value, std::move(path));
    reader.take("type");
    return read_allowed_tools(reader, conversation);
  }
  ZLLM_TRY(std::string name, read_tool_name(value, std::move(path), conversation));
  return ToolChoice{.rule = ToolRule::required, .names = {std::move(name)}};
}

void read_tool_choice(FieldReader& fields, Conversation& conversation) {
  const Json *value = fields.take("tool_choice");
  if (value == nullptr) {
    return;
  }
  if (value->as_object() != nullptr) {
    auto choice =
        fields.keep(read_choice_object(*value, fields.path_of("tool_choice"), conversation));
    conversation.tool_choice = std::move(choice).value_or(ToolChoice{});
    return;
  }
  const auto word = fields.word("tool_choice", {"none", "auto", "required"});
  conversation.tool_choice.rule = rule_of(word.value_or("auto"));
  if (conversation.tool_choice.rule == ToolRule::required && conversation.tools.empty()) {
    fields.fail("tool_choice", "a call is required, but the request has no tools");
  }
}

}  // namespace

void read_tools(FieldReader& fields, Conversation& conversation) {
  const Json::Array *tools = fields.array("tools", kMaxTools);
  for (std::size_t i = 0; tools != nullptr && i < tools->size(); ++i) {
    const std::string path = element_path("tools", i);
    auto tool = fields.keep(read_tool((*tools)[i], path));
    if (!tool.has_value()) {
      return;
    }
    if (has_tool(conversation, tool->name)) {
      fields.fail(wrong_value(member_path(path, "name"),
                              concat("another tool is called ", quote(tool->name), " too")));
      return;
    }
    conversation.tools.push_back(std::move(*tool));
  }
  read_tool_choice(fields, conversation);
  conversation.allows_parallel_calls = fields.boolean("parallel_tool_calls").value_or(true);
}

void write_tools(JsonWriter& json, const Conversation& conversation) {
  json.begin_array("tools");
  for (const Tool& tool : conversation.tools) {
    json.begin_object().text("type", "function").text("name", tool.name);
    tool.description.empty() ? json.null("description")
                             : json.text("description", tool.description);
    tool.parameters.empty() ? json.null("parameters") : json.raw("parameters", tool.parameters);
    json.boolean("strict", tool.is_strict).end_object();
  }
  json.end_array();
}

}  // namespace zllm::dialect::responses
