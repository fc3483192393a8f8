#include <zllm/dialect/chat/tool_fields.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <zllm/base/text.h>

namespace zllm::dialect::chat {
namespace {

bool has_tool(const Conversation& conversation, std::string_view name) {
  return std::ranges::any_of(conversation.tools,
                             [&](const Tool& tool) { return tool.name == name; });
}

Outcome<Tool> read_function(const Json& value, std::string path) {
  FieldReader reader(value, std::move(path));
  Tool tool;
  reader.require("name");
  tool.name = reader.text("name").value_or("");
  if (!is_plain_name(tool.name)) {
    reader.fail("name", kPlainNameRule);
  }
  tool.description = reader.text("description").value_or("");
  if (const Json *parameters = reader.object("parameters")) {
    tool.parameters = parameters->dump();
  }
  tool.is_strict = reader.boolean("strict").value_or(false);
  ZLLM_TRY(reader.finish());
  return tool;
}

// Fails on types of tools other than functions.
void read_type(FieldReader& reader) {
  reader.require("type");
  const auto type = reader.text("type");
  if (type && *type != "function") {
    reader.fail(unsupported_field(reader.path_of("type"),
                                  concat("tools of type ", quote(*type), " are not called")));
  }
}

Outcome<Tool> read_tool(const Json& value, std::string path) {
  FieldReader reader(value, std::move(path));
  Tool tool;
  read_type(reader);
  reader.require("function");
  if (const Json *function = reader.take("function")) {
    ZLLM_TRY(tool, read_function(*function, reader.path_of("function")));
  }
  ZLLM_TRY(reader.finish());
  return tool;
}

// {"type": "function", "function": {"name"}}, of a tool that the request has.
Outcome<std::string> read_tool_name(const Json& value, std::string path,
                                    const Conversation& conversation) {
  FieldReader reader(value, std::move(path));
  read_type(reader);
  reader.require("function");
  std::string name;
  if (const Json *function = reader.take("function")) {
    FieldReader inner(*function, reader.path_of("function"));
    inner.require("name");
    name = inner.text("name").value_or("");
    if (!has_tool(conversation, name)) {
      inner.fail("name", concat("no tool is called ", quote(name)));
    }
    ZLLM_TRY(inner.finish());
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

// {"mode": "auto" | "required", "tools": [...]}
Outcome<ToolChoice> read_allowed_tools(const Json& value, std::string path,
                                       const Conversation& conversation) {
  FieldReader reader(value, std::move(path));
  ToolChoice choice;
  reader.require("mode");
  choice.rule = rule_of(reader.word("mode", {"auto", "required"}).value_or("auto"));
  reader.require("tools");
  const Json::Array *tools = reader.array("tools", kMaxTools);
  if (tools != nullptr && tools->empty()) {
    reader.fail("tools", "must name at least one tool");
  }
  for (std::size_t i = 0; tools != nullptr && i < tools->size(); ++i) {
    ZLLM_TRY(auto name,
             read_tool_name((*tools)[i], element_path(reader.path_of("tools"), i), conversation));
    choice.names.push_back(std::move(name));
  }
  ZLLM_TRY(reader.finish());
  return choice;
}

Outcome<ToolChoice> read_choice_object(const Json& value, const Conversation& conversation) {
  const std::string path = "tool_choice";
  const Json *type = value.find("type");
  if (type == nullptr || type->as_string() == nullptr || *type->as_string() != "allowed_tools") {
    ZLLM_TRY(auto name, read_tool_name(value, path, conversation));
    return ToolChoice{.rule = ToolRule::required, .names = {std::move(name)}};
  }
  FieldReader reader(value, path);
  ToolChoice choice;
  reader.take("type");
  reader.require("allowed_tools");
  if (const Json *allowed = reader.take("allowed_tools")) {
    ZLLM_TRY(choice, read_allowed_tools(*allowed, reader.path_of("allowed_tools"), conversation));
  }
  ZLLM_TRY(reader.finish());
  return choice;
}

void read_tool_choice(FieldReader& fields, Conversation& conversation) {
  const Json *value = fields.take("tool_choice");
  if (value == nullptr) {
    return;
  }
  if (value->as_object() != nullptr) {
    if (auto choice = fields.keep(read_choice_object(*value, conversation))) {
      conversation.tool_choice = std::move(*choice);
    }
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
    auto tool = fields.keep(read_tool((*tools)[i], element_path("tools", i)));
    if (!tool) {
      return;
    }
    if (has_tool(conversation, tool->name)) {
      fields.fail(wrong_value(concat(element_path("tools", i), ".function.name"),
                              concat("another tool is called ", quote(tool->name), " too")));
      return;
    }
    conversation.tools.push_back(std::move(*tool));
  }
  read_tool_choice(fields, conversation);
  conversation.allows_parallel_calls = fields.boolean("parallel_tool_calls").value_or(true);
}

}  // namespace zllm::dialect::chat
