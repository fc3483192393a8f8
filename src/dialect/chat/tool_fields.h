#pragma once

#include <cstddef>

#include <zllm/dialect/field_reader.h>
#include <zllm/embedded/request.h>

namespace zllm::dialect::chat {

constexpr std::size_t kMaxTools = 512;  // each becomes part of the prompt and of the grammar

// tools, tool_choice and parallel_tool_calls.
void read_tools(FieldReader& fields, Conversation& conversation);

}  // namespace zllm::dialect::chat
