#pragma once

#include <zllm/dialect/field_reader.h>
#include <zllm/embedded/request.h>

namespace zllm::dialect::chat {

// tools, tool_choice and parallel_tool_calls.
void read_tools(FieldReader& fields, Conversation& conversation);

}  // namespace zllm::dialect::chat
