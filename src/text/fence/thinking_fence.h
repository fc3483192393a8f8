#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/engine/fence/fence.h>
#include <zllm/text/fence/fence_factory.h>
#include <zllm/text/tokenizer.h>

namespace zllm::text {

struct ThinkingFenceSpec {
  Thinking thinking;  // `end` is not empty
  std::vector<TokenId> end_tokens;
  // White space may stand between reasoning and what the constraint says.
  bool allows_gap = false;
};

// Reasoning, and then an answer within a fence. While reasoning is open the only bounds are its
// budget and, if an answer must follow, that the model does not end. `answer` may be null:
// anything.
Result<std::unique_ptr<engine::Fence>> make_thinking_fence(const Tokenizer& tokenizer,
                                                           ThinkingFenceSpec spec,
                                                           std::unique_ptr<engine::Fence> answer);

}  // namespace zllm::text
