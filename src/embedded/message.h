#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace zllm {

enum class Role : std::uint8_t { system, developer, user, assistant, tool };

struct ToolCall {
  std::string id;
  std::string name;
  std::string arguments;  // JSON text as the model wrote it
};

struct Message {
  Role role = Role::user;
  std::optional<std::string> content = {};  // nothing: null, as beside tool calls
  std::string reasoning = {};               // of an assistant's turn
  std::vector<ToolCall> tool_calls = {};    // of an assistant's turn
  std::string tool_call_id = {};            // of a tool's turn
  std::string name = {};
};

}  // namespace zllm
