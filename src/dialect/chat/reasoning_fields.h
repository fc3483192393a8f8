#pragma once

#include <zllm/dialect/field_reader.h>
#include <zllm/embedded/request.h>

namespace zllm::dialect::chat {

// How a model is to reason and what its template is told: reasoning_effort, enable_thinking,
// reasoning_budget, reasoning_format, chat_template_kwargs, add_generation_prompt,
// continue_final_message; after the messages are read.
void read_reasoning(FieldReader& fields, Conversation& conversation, ReasoningOptions& reasoning);

}  // namespace zllm::dialect::chat
