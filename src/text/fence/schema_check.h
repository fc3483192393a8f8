#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <zllm/base/json.h>
#include <zllm/base/result.h>

namespace zllm::text {

struct SchemaPattern {
  std::string pointer;
  std::string pattern;
};

struct CheckedSchema {
  std::string text;  // for the grammar compiler
  std::vector<SchemaPattern> patterns;
};

struct SchemaPart {
  std::string pointer;  // from the schema that holds it
  const Json *schema;
};
// The schemas directly within one that was checked, those for use elsewhere left out.
std::vector<SchemaPart> schema_parts(const Json& schema);

// A JSON schema of which everything is enforced: keywords, formats and references that would not be
// are refused by name and JSON pointer.
Result<CheckedSchema> check_schema(std::string_view source);

// A schema that allows whatever the source allows, and more: without what could not be enforced.
// can_follow: whether a pattern is one that can be.
Result<CheckedSchema> widened_schema(std::string_view source,
                                     const std::function<bool(const std::string&)>& can_follow);

}  // namespace zllm::text
