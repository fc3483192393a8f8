#include <zllm/dialect/tool_fields.h>

#include <algorithm>
#include <utility>

#include <zllm/base/text.h>

namespace zllm::dialect {
namespace {

bool has_tool(const Conversation& conversation, std::string_view name) {
  return std::ranges::find(conversation.tools, name, &Tool::name) != conversation.tools.end();
}

ToolRule rule_of(std::string_view word) {
  if (word == "none") {
    return ToolRule::none;
  }
  return word == "required" ? ToolRule::required : ToolRule::automatic;
}

class ChoiceReader {
 public:
  ChoiceReader(const Conversation& conversation, const ToolSpelling& spelling)
      : conversation_(conversation), spelling_(spelling) {}

  Outcome<ToolChoice> read(const Json& value, std::string path) const {
    const Json *type = value.find("type");
    if (type == nullptr || type->as_string() == nullptr || *type->as_string() != "allowed_tools") {
      ZLLM_TRY(std::string name, read_name(value, std::move(path)));
      return ToolChoice{.rule = ToolRule::required, .names = {std::move(name)}};
    }
    FieldReader reader(value, std::move(path));
    reader.take("type");
    if (!spelling_.nests_allowed_tools) {
      return read_allowed(reader);
    }
    ToolChoice choice;
    reader.require("allowed_tools");
    if (const Json *allowed = reader.take("allowed_tools")) {
      FieldReader inner(*allowed, reader.path_of("allowed_tools"));
      ZLLM_TRY(choice, read_allowed(inner));
    }
    ZLLM_TRY(reader.finish());
    return choice;
  }

 private:
  // {"type"} with the name of a tool that the request has.
  Outcome<std::string> read_name(const Json& value, std::string path) const {
    FieldReader reader(value, std::move(path));
    read_tool_type(reader, spelling_.has_custom_tools);
    if (spelling_.name_object.empty()) {
      return named_tool(reader);
    }
    reader.require(spelling_.name_object);
    std::string name;
    if (const Json *object = reader.take(spelling_.name_object)) {
      FieldReader inner(*object, reader.path_of(spelling_.name_object));
      ZLLM_TRY(name, named_tool(inner));
    }
    ZLLM_TRY(reader.finish());
    return name;
  }

  // "name", all that is left of the object.
  Outcome<std::string> named_tool(FieldReader& reader) const {
    reader.require("name");
    std::string name = reader.text("name").value_or("");
    if (!has_tool(conversation_, name)) {
      reader.fail("name", concat("no tool is called ", quote(name)));
    }
    ZLLM_TRY(reader.finish());
    return name;
  }

  // "mode" and "tools", all that is left of the object.
  Outcome<ToolChoice> read_allowed(FieldReader& reader) const {
    ToolChoice choice;
    reader.require("mode");
    choice.rule = rule_of(reader.word("mode", {"auto", "required"}).value_or("auto"));
    reader.require("tools");
    const Json::Array *tools = reader.array("tools", kMaxTools);
    if (tools != nullptr && tools->empty()) {
      reader.fail("tools", "must name at least one tool");
    }
    for (std::size_t i = 0; tools != nullptr && i < tools->size(); ++i) {
      ZLLM_TRY(std::string name, read_name((*tools)[i], element_path(reader.path_of("tools"), i)));
      choice.names.push_back(std::move(name));
    }
    ZLLM_TRY(reader.finish());
    return choice;
  }

  const Conversation& conversation_;
  const ToolSpelling& spelling_;
};

void read_tool_choice(FieldReader& fields, Conversation& conversation,
                      const ToolSpelling& spelling) {
  const Json *value = fields.take("tool_choice");
  if (value == nullptr) {
    return;
  }
  if (value->as_object() != nullptr) {
    auto choice = fields.keep(
        ChoiceReader(conversation, spelling).read(*value, fields.path_of("tool_choice")));
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

std::string read_tool_type(FieldReader& reader, bool has_custom_tools) {
  reader.require("type");
  std::string type = reader.text("type").value_or("function");
  if (type != "function" && !(has_custom_tools && type == "custom")) {
    reader.fail(unsupported_field(reader.path_of("type"),
                                  concat("tools of type ", quote(type), " are not called")));
  }
  return type;
}

void read_tools(FieldReader& fields, Conversation& conversation, const ToolSpelling& spelling) {
  const Json::Array *tools = fields.array("tools", kMaxTools);
  for (std::size_t i = 0; tools != nullptr && i < tools->size(); ++i) {
    const std::string path = element_path("tools", i);
    auto tool = fields.keep(spelling.read_tool((*tools)[i], path));
    if (!tool.has_value()) {
      return;
    }
    if (has_tool(conversation, tool->name)) {
      fields.fail(wrong_value(member_path(path, spelling.name_member),
                              concat("another tool is called ", quote(tool->name), " too")));
      return;
    }
    conversation.tools.push_back(std::move(*tool));
  }
  read_tool_choice(fields, conversation, spelling);
  conversation.allows_parallel_calls = fields.boolean("parallel_tool_calls").value_or(true);
}

}  // namespace zllm::dialect
