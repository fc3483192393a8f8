#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <zllm/engine/event.h>
#include <zllm/engine/request.h>
#include <zllm/engine/scheduler_model_test-inl.h>
#include <zllm/runtime/prefill.h>
#include <zllm/sampling/sampler.h>

// The reference that answers of the scheduler are compared with; included by tests alone.
namespace zllm::engine {

struct LoneAnswer {
  FinishReason reason = FinishReason::length;
  std::vector<TokenId> tokens;
};

// What a request without a fence answers on a model of its own: a prompt, then a round a token.
template <class Model>
LoneAnswer alone(const Request& request, std::uint64_t choice = 0, hashed::Sizes sizes = {}) {
  sizes.pages = 10000;
  Model model(sizes);
  const SequenceId id = *model.states().create(0);
  const std::size_t vocabulary = request.vocabulary == 0 ? sizes.vocabulary : request.vocabulary;
  std::vector<TokenId> history = request.prompt;
  LoneAnswer answer;
  sampling::Sampler sampler;
  auto logits = runtime::prefill(model, id, history, runtime::PrefillLogits::last);
  while (answer.tokens.size() < request.max_tokens && history.size() <= sizes.context) {
    if (!answer.tokens.empty()) {
      logits = runtime::decode(model, id, history.back());
    }
    const auto token = sampler.sample(
        request.sampling, {.logits = logits->row(0), .vocabulary = vocabulary, .history = history},
        {.choice = choice, .position = history.size()});
    if (std::ranges::find(request.end_tokens, *token) != request.end_tokens.end()) {
      answer.reason = FinishReason::end_token;
      break;
    }
    answer.tokens.push_back(*token);
    history.push_back(*token);
  }
  EXPECT_TRUE(model.states().release(id).ok());
  return answer;
}

}  // namespace zllm::engine
