#include <zllm/engine/prompt_budget.h>

#include <algorithm>

namespace zllm::engine {

PromptBudget::Share PromptBudget::share(std::uint64_t answer_rows, std::uint64_t rows) const {
  const bool is_known = cost_.knows_prompts();
  const double others = cost_.seconds({.answer_rows = answer_rows});
  if (answer_rows == 0) {
    return {.seconds = std::max(kLoneSeconds - others, kLoneSeconds / 2),
            .least_rows = kLeastLoneRows,
            .most_rows = is_known ? rows : std::min(rows, kFirstLoneRows)};
  }
  const double whole = std::max(kStretch * others, kLeastSeconds);
  return {.seconds = std::min(whole - others, kMostPromptSeconds),
          .least_rows = kLeastRows,
          .most_rows = std::min(rows, is_known ? kMostRows : kFirstRows)};
}

double PromptBudget::row_seconds(std::uint64_t start) const {
  if (!cost_.knows_prompts()) {
    return 0;
  }
  return cost_.seconds({.prompt_rows = 1, .prompt_positions = start}) - cost_.seconds({});
}

}  // namespace zllm::engine
