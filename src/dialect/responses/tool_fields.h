#pragma once

#include <cstddef>
#include <string_view>

#include <zllm/dialect/field_reader.h>
#include <zllm/dialect/json_writer.h>
#include <zllm/embedded/request.h>

namespace zllm::dialect::responses {

constexpr std::size_t kMaxTools = 512;  // each becomes part of the prompt and of the grammar

// tools, tool_choice and parallel_tool_calls.
void read_tools(FieldReader& fields, Conversation& conversation);
// The member "tools" of a response.
void write_tools(JsonWriter& json, const Conversation& conversation);

}  // namespace zllm::dialect::responses
