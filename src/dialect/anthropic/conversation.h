#pragma once

#include <optional>
#include <string>
#include <vector>

#include <zllm/dialect/field_reader.h>
#include <zllm/embedded/message.h>

namespace zllm::dialect::anthropic {

constexpr std::string_view kWhitespace = " \t\r\n\f\v";

// Ids of calls are the engine's behind this, as clients expect.
constexpr std::string_view kCallPrefix = "toolu_";

// The turns of "system" and "messages". Consecutive messages of one role are one turn; results of
// tools become turns of their own, before the text of their message.
std::vector<Message> read_turns(FieldReader& fields);

// Checks and forgets a "cache_control": every prefix is cached anyway.
void read_cache_control(FieldReader& fields);

}  // namespace zllm::dialect::anthropic
