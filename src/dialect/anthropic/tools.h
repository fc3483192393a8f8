#pragma once

#include <zllm/dialect/field_reader.h>
#include <zllm/embedded/request.h>

namespace zllm::dialect::anthropic {

// "tools" and "tool_choice" into the conversation.
void read_tools(FieldReader& fields, Conversation& conversation);

}  // namespace zllm::dialect::anthropic
