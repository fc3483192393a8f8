#pragma once

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

}  // namespace zllm::text
