#pragma once

#include <zllm/base/json.h>
#include <zllm/dialect/dialect.h>

// OpenAI's Completions: platform.openai.com/docs/api-reference/completions.
namespace zllm::dialect::completions {

// Reads a body of POST /v1/completions: a request for each of its prompts. Refuses, by name, fields
// that are unknown, out of range or not honoured.
Outcome<Batch> read(const Json& body, const AnswerFacts& facts);

}  // namespace zllm::dialect::completions
