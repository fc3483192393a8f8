#pragma once

#include <string>

#include <zllm/base/json.h>
#include <zllm/dialect/dialect.h>

// OpenAI's Chat Completions: platform.openai.com/docs/api-reference/chat.
namespace zllm::dialect::chat {

// Reads a body of POST /v1/chat/completions; body is an object. Refuses, by name, fields that are
// unknown, out of range or not honoured.
Outcome<Exchange> read(const Json& body, const AnswerFacts& facts);
// {"error": {"message", "type", "param", "code"}}
std::string error_body(const Failure& failure);

}  // namespace zllm::dialect::chat
