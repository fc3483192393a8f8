#include <zllm/engine/round_cost.h>

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace zllm::engine {
namespace {

using Parts = std::array<double, 4>;

// In units of which a usual round has a few each, so that an error is shared out fairly.
Parts amounts(const RoundWork& work) {
  constexpr double kAnswerRows = 8;
  constexpr double kPromptRows = 32;
  constexpr double kPromptPositions = 32 * 1024;
  return {1, static_cast<double>(work.answer_rows) / kAnswerRows,
          static_cast<double>(work.prompt_rows) / kPromptRows,
          static_cast<double>(work.prompt_positions) / kPromptPositions};
}

double product(const Parts& a, const Parts& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

}  // namespace

void RoundCost::note(const RoundWork& work, double seconds) {
  // Shorter parts tell little of what a row costs, and nothing where they run alone: such a round
  // may be the first that reads the weights.
  constexpr std::uint64_t kTellingRows = 8;
  if (work.answer_rows == 0 && work.prompt_rows < kTellingRows) {
    return;
  }
  const Parts amount = amounts(work);
  const double expected = product(parts_, amount);
  double error = seconds - expected;
  const bool is_first_of_prompts = !knows_prompts_ && work.prompt_rows >= kTellingRows;
  if (expected > 0 && !is_first_of_prompts) {
    // Follows changes of load within some rounds; one odd round changes little, however long.
    constexpr double kShare = 0.25;
    error = kShare * std::min(error, expected);
  }
  knows_prompts_ = knows_prompts_ || is_first_of_prompts;
  const double step = error / product(amount, amount);
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    parts_[i] = std::max(parts_[i] + step * amount[i], 0.0);
  }
}

double RoundCost::seconds(const RoundWork& work) const { return product(parts_, amounts(work)); }

}  // namespace zllm::engine
