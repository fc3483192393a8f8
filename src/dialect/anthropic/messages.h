#pragma once

#include <string>
#include <string_view>

#include <zllm/base/json.h>
#include <zllm/dialect/dialect.h>

// Anthropic's Messages: docs.anthropic.com/en/api/messages.
namespace zllm::dialect::anthropic {

// Reads a body of POST /v1/messages. Refuses, by name, fields that are unknown, out of range or not
// honoured.
Outcome<Exchange> read(const Json& body, const AnswerFacts& facts);
// Reads a body of POST /v1/messages/count_tokens.
Outcome<Request> read_count(const Json& body);
std::string count_body(std::uint64_t input_tokens);
// {"type": "error", "error": {"type", "message"}, "request_id"}
std::string error_body(const Failure& failure, std::string_view request_id);

}  // namespace zllm::dialect::anthropic
