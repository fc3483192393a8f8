#include <zllm/dialect/responses/tool_fields.h>

#include <string>
#include <utility>

#include <zllm/base/text.h>
#include <zllm/dialect/tool_fields.h>

namespace zllm::dialect::responses {
namespace {

constexpr bool kHasCustomTools = true;

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
}

Outcome<Tool> read_tool(const Json& value, std::string path) {
  FieldReader reader(value, std::move(path));
  Tool tool;
  const bool is_custom = read_tool_type(reader, kHasCustomTools) == "custom";
  reader.require("name");
  tool.name = reader.text("name").value_or("");
  if (!is_plain_name(tool.name)) {
    reader.fail("name", kPlainNameRule);
  }
  tool.description = reader.text("description").value_or("");
  if (is_custom) {
    tool.parameters = read_custom_format(reader);
    tool.is_strict = true;
  } else {
    if (const Json *parameters = reader.object("parameters"); parameters != nullptr) {
      tool.parameters = parameters->dump();
    }
    // Unlike in Chat Completions, strict unless said otherwise.
    tool.is_strict = reader.boolean("strict").value_or(true) && !tool.parameters.empty();
    reader.refuse("output_schema", "templates do not tell what a function returns");
  }
  read_plain_extras(reader);
  ZLLM_TRY(reader.finish());
  return tool;
}

constexpr ToolSpelling kSpelling = {.read_tool = read_tool,
                                    .name_member = "name",
                                    .name_object = "",
                                    .nests_allowed_tools = false,
                                    .has_custom_tools = kHasCustomTools};

}  // namespace

void read_tools(FieldReader& fields, Conversation& conversation) {
  dialect::read_tools(fields, conversation, kSpelling);
}

void write_tools(JsonWriter& json, const Conversation& conversation, const CustomTools& custom) {
  json.begin_array("tools");
  for (const Tool& tool : conversation.tools) {
    const auto format = custom.find(tool.name);
    json.begin_object().text("type", format == custom.end() ? "function" : "custom");
    json.text("name", tool.name);
    tool.description.empty() ? json.null("description")
                             : json.text("description", tool.description);
    if (format != custom.end()) {
      json.raw("format", format->second).end_object();
      continue;
    }
    tool.parameters.empty() ? json.null("parameters") : json.raw("parameters", tool.parameters);
    json.boolean("strict", tool.is_strict).end_object();
  }
  json.end_array();
}

}  // namespace zllm::dialect::responses
