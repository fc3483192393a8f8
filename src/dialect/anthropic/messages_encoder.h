#pragma once

#include <memory>

#include <zllm/dialect/dialect.h>

namespace zllm::dialect::anthropic {

// Writes a message. tells_thinking: off leaves the text of thinking blocks empty.
std::unique_ptr<Encoder> make_messages_encoder(const AnswerFacts& facts, bool tells_thinking);

}  // namespace zllm::dialect::anthropic
