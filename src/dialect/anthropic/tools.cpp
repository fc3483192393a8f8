#include <zllm/dialect/anthropic/tools.h>

#include <algorithm>
#include <utility>

#include <zllm/base/text.h>
#include <zllm/dialect/anthropic/conversation.h>

namespace zllm::dialect::anthropic {
namespace {

constexpr std::size_t kNameLimit = 128;  // of the API
constexpr std::size_t kMaxTools = 512;   // each becomes part of the prompt and of the grammar

bool is_tool_name(std::string_view name) {
  return !name.empty() && name.size() <= kNameLimit && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

// Fields of newer tools whose plain value changes nothing.
void read_plain_extras(FieldReader& fields) {
  static_cast<void>(fields.boolean("eager_input_streaming"));  // input always streams
  if (fields.boolean("defer_loading").value_or(false)) {
    fields.fail(unsupported_field(fields.path_of("defer_loading"), "there is no tool search"));
  }
  if (const Json::Array *callers = fields.array("allowed_callers"); callers != nullptr) {
    for (const Json& caller : *callers) {
      if (caller.as_string() == nullptr || *caller.as_string() != "direct") {
        fields.fail(
            unsupported_field(fields.path_of("allowed_callers"), "only 'direct' is supported"));
      }
    }
  }
  fields.refuse("input_examples", "put examples into the description");
}

Outcome<Tool> read_tool(const Json& value, const std::string& path) {
  FieldReader fields(value, path);
  const std::string type = fields.text("type").value_or("custom");
  if (fields.ok() && type != "custom") {
    return unsupported_field(fields.path_of("type"),
                             concat("the server runs no tools of its own, such as ", quote(type)));
  }
  fields.require("name");
  fields.require("input_schema");
  Tool tool;
  tool.name = fields.text("name").value_or("");
  tool.description = fields.text("description").value_or("");
  if (const Json *schema = fields.object("input_schema"); schema != nullptr) {
    tool.parameters = schema->dump();
  }
  tool.is_strict = fields.boolean("strict").value_or(false);
  read_cache_control(fields);
  read_plain_extras(fields);
  ZLLM_TRY(fields.finish());
  if (!is_tool_name(tool.name)) {
    return wrong_value(fields.path_of("name"),
                       concat("must be 1 to ", kNameLimit, " letters, digits, '_' or '-'"));
  }
  return tool;
}

void read_choice(FieldReader& fields, const Json& value, Conversation& conversation) {
  FieldReader choice(value, fields.path_of("tool_choice"));
  choice.require("type");
  const auto type = choice.word("type", {"auto", "any", "tool", "none"});
  ToolChoice& rule = conversation.tool_choice;
  if (type == "any" || type == "tool") {
    rule.rule = ToolRule::required;
  } else if (type == "none") {
    rule.rule = ToolRule::none;
  }
  if (type == "tool") {
    choice.require("name");
    const std::string name = choice.text("name").value_or("");
    if (std::ranges::find(conversation.tools, name, &Tool::name) == conversation.tools.end()) {
      choice.fail("name", concat(quote(name), " is the name of no tool"));
    }
    rule.names.push_back(name);
  }
  if (type != "none") {
    conversation.allows_parallel_calls =
        !choice.boolean("disable_parallel_tool_use").value_or(false);
  }
  if (conversation.tools.empty() && type != "none") {
    fields.fail("tool_choice", "needs tools to choose from");
  }
  fields.keep(choice.finish());
}

}  // namespace

void read_tools(FieldReader& fields, Conversation& conversation) {
  const Json::Array *tools = fields.array("tools", kMaxTools);
  const std::string path = fields.path_of("tools");
  for (std::size_t i = 0; tools != nullptr && i < tools->size() && fields.ok(); ++i) {
    auto tool = fields.keep(read_tool((*tools)[i], concat(path, ".", i)));
    if (!tool.has_value()) {
      return;
    }
    if (std::ranges::find(conversation.tools, tool->name, &Tool::name) !=
        conversation.tools.end()) {
      fields.fail(concat("tools.", i, ".name"), "another tool has the same");
    }
    conversation.tools.push_back(std::move(*tool));
  }
  const Json *choice = fields.object("tool_choice");
  if (choice != nullptr) {
    read_choice(fields, *choice, conversation);
  }
}

}  // namespace zllm::dialect::anthropic
