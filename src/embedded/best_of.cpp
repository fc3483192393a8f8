#include <zllm/embedded/best_of.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

namespace zllm {
namespace {

double mean(const ChoiceText& candidate) {
  return candidate.tokens() == 0
             ? -std::numeric_limits<double>::infinity()
             : candidate.sum_of_log_probabilities() / static_cast<double>(candidate.tokens());
}

}  // namespace

void BestOf::add(std::vector<Event> events) {
  for (Event& event : events) {
    if (!tells_scores_) {
      event.scored.clear();
    }
    events_[event.choice].push_back(std::move(event));
  }
}

std::vector<Event> BestOf::take(const std::vector<ChoiceText>& candidates) {
  std::vector<std::size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Not stable_sort, whose buffer is deprecated in the library that Clang is used with.
  std::ranges::sort(order, std::ranges::greater(), [&](std::size_t i) {
    return std::pair(mean(candidates[i]), candidates.size() - i);
  });
  std::vector<Event> told;
  for (std::uint32_t choice = 0; choice < choices_; ++choice) {
    for (Event& event : events_[order[choice]]) {
      event.choice = choice;
      told.push_back(std::move(event));
    }
  }
  return told;
}

}  // namespace zllm
