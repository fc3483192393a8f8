#pragma once

#include <cstdint>

namespace zllm::moe {

enum class Scoring { softmax, sigmoid };

// How a row chooses its experts. Formulas: routing.h.
struct RouterSpec {
  std::uint32_t experts = 0;
  std::uint32_t top_k = 0;
  std::uint32_t groups = 1;       // divides experts
  std::uint32_t kept_groups = 1;  // at most groups; all kept: groups do not matter
  Scoring scoring = Scoring::softmax;
  bool has_selection_bias = false;  // added to the scores that choose, not to the weights
  bool normalise = true;            // the chosen scores are divided by their sum
  float scaling = 1.0f;             // multiplies the weights

  bool operator==(const RouterSpec&) const = default;
};

}  // namespace zllm::moe
