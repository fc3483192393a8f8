#pragma once

#include <string>
#include <vector>

#include <zllm/dialect/field_reader.h>
#include <zllm/embedded/message.h>

namespace zllm::dialect::chat {

// The member "messages", at least one. Text parts of a content are joined by line feeds; parts of
// other kinds are refused by name.
std::vector<Message> read_messages(FieldReader& fields);

}  // namespace zllm::dialect::chat
