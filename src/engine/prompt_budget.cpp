#include <zllm/engine/prompt_budget.h>

#include <algorithm>

namespace zllm::engine {

double PromptBudget::seconds(std::uint64_t answer_rows) const {
  const double answers = cost_.seconds({.answer_rows = answer_rows});
  const double whole = std::max(kStretch * answers, kLeastSeconds);
  return std::min(whole - answers, kMostPromptSeconds);
}

double PromptBudget::row_seconds(std::uint64_t start) const {
  if (!cost_.knows_prompts()) {
    return 0;
  }
  return cost_.seconds({.prompt_rows = 1, .prompt_positions = start}) - cost_.seconds({});
}

}  // namespace zllm::engine
