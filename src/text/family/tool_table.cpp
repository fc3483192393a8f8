#include <zllm/text/family/tool_table.h>

#include <utility>

namespace zllm::text::family {

ToolTable::ToolTable(std::span<const Tool> tools) {
  for (const Tool& tool : tools) {
    Result<Json> schema = Json::parse(tool.parameters, tool.name);
    schemas_.emplace(tool.name, schema.ok() ? std::move(schema).value() : Json());
  }
}

ValueTypes ToolTable::types(std::string_view tool, std::string_view argument) const {
  const auto found = schemas_.find(tool);
  return found == schemas_.end() ? kAnyType : argument_types(found->second, argument);
}

}  // namespace zllm::text::family
