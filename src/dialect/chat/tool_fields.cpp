#include <zllm/dialect/chat/tool_fields.h>

#include <string>
#include <utility>

#include <zllm/dialect/tool_fields.h>

namespace zllm::dialect::chat {
namespace {

constexpr bool kHasCustomTools = false;

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

Outcome<Tool> read_tool(const Json& value, std::string path) {
  FieldReader reader(value, std::move(path));
  Tool tool;
  read_tool_type(reader, kHasCustomTools);
  reader.require("function");
  if (const Json *function = reader.take("function")) {
    ZLLM_TRY(tool, read_function(*function, reader.path_of("function")));
  }
  ZLLM_TRY(reader.finish());
  return tool;
}

constexpr ToolSpelling kSpelling = {.read_tool = read_tool,
                                    .name_member = "function.name",
                                    .name_object = "function",
                                    .nests_allowed_tools = true,
                                    .has_custom_tools = kHasCustomTools};

}  // namespace

void read_tools(FieldReader& fields, Conversation& conversation) {
  dialect::read_tools(fields, conversation, kSpelling);
}

}  // namespace zllm::dialect::chat
