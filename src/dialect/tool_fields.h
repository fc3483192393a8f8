#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <zllm/dialect/field_reader.h>
#include <zllm/embedded/request.h>

// Tools as OpenAI's two APIs have them; they differ in how the parts are nested.
namespace zllm::dialect {

constexpr std::size_t kMaxTools = 512;  // each becomes part of the prompt and of the grammar

struct ToolSpelling {
  Outcome<Tool> (*read_tool)(const Json& value, std::string path);
  // The member of a tool that names it: "function.name" or "name".
  std::string_view name_member;
  // Where a choice of one tool has its name: in this member, or empty in itself.
  std::string_view name_object;
  // Whether allowed tools lie in a member of their own.
  bool nests_allowed_tools;
  bool has_custom_tools;
};

// "type" of a tool. Fails on types other than "function" and, where there are such, "custom": the
// server runs none itself.
std::string read_tool_type(FieldReader& reader, bool has_custom_tools);

// tools, tool_choice and parallel_tool_calls.
void read_tools(FieldReader& fields, Conversation& conversation, const ToolSpelling& spelling);

}  // namespace zllm::dialect
