#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include <zllm/text/family/family.h>
#include <zllm/text/family/value_type.h>

namespace zllm::text::family {

// The tools of a request: their names and the types of their arguments.
class ToolTable {
 public:
  // Schemas that are not JSON say nothing.
  explicit ToolTable(std::span<const Tool> tools);

  bool has(std::string_view name) const { return schemas_.contains(name); }
  ValueTypes types(std::string_view tool, std::string_view argument) const;

 private:
  std::map<std::string, Json, std::less<>> schemas_;
};

}  // namespace zllm::text::family
