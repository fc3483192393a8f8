#include <zllm/engine/prompt_budget.h>

#include <algorithm>

namespace zllm::engine {
namespace {

// Follows changes of load within some rounds; one odd round changes little.
void blend(double& mean, double seen) {
  constexpr double kShare = 0.25;
  mean = mean == 0 ? seen : mean + kShare * (seen - mean);
}

}  // namespace

void PromptBudget::note(std::uint64_t answer_rows, std::uint64_t prompt_rows, double seconds) {
  if (prompt_rows == 0) {
    blend(answer_seconds_, seconds);
    return;
  }
  // Short parts tell little of what a row costs.
  if (prompt_rows >= kLeastRows) {
    const double answers = answer_rows == 0 ? 0 : answer_seconds_;
    blend(row_seconds_, std::max(seconds - answers, 0.0) / static_cast<double>(prompt_rows));
  }
}

std::uint64_t PromptBudget::rows() const {
  if (row_seconds_ <= 0) {
    return kFirstRows;
  }
  const double rows = std::min(kPromptSeconds / row_seconds_, static_cast<double>(kMostRows));
  return std::max(kLeastRows, static_cast<std::uint64_t>(rows));
}

}  // namespace zllm::engine
