#pragma once

#include <string_view>

#include <zllm/dialect/field_reader.h>
#include <zllm/dialect/json_writer.h>
#include <zllm/dialect/responses/custom_tool.h>
#include <zllm/embedded/request.h>

namespace zllm::dialect::responses {

// tools, tool_choice and parallel_tool_calls.
void read_tools(FieldReader& fields, Conversation& conversation);
// The member "tools" of a response.
void write_tools(JsonWriter& json, const Conversation& conversation, const CustomTools& custom);

}  // namespace zllm::dialect::responses
