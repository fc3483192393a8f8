#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <zllm/base/strong.h>

namespace zllm::sampling {

struct Ranked {
  float logit = 0.0f;
  TokenId token = 0;
};

// The order of tokens everywhere: likelier first, ties to the lower id.
constexpr bool ranks_before(const Ranked& a, const Ranked& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
}

// The first of the largest; logits are not empty and hold no NaN.
Ranked highest(std::span<const float> logits);

// The min(count, logits.size()) first tokens of that order, in order. One pass over the logits for
// small counts. No NaN.
std::vector<Ranked> top(std::span<const float> logits, std::size_t count);

}  // namespace zllm::sampling
