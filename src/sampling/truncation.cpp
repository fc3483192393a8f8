#include <zllm/sampling/truncation.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace zllm::sampling {
namespace {

constexpr std::size_t kFirstSorted = 64;  // most shares are reached within as many tokens
constexpr std::size_t kSortedGrowth = 4;

// A candidate with the key that a step orders by, least first.
struct Keyed {
  double key = 0.0;
  Candidate candidate;
};

bool comes_before(const Keyed& a, const Keyed& b) {
  return a.key != b.key ? a.key < b.key : a.candidate.token < b.candidate.token;
}

double total(const std::vector<Candidate>& candidates) {
  double sum = 0.0;
  for (const Candidate& candidate : candidates) {
    sum += candidate.probability;
  }
  return sum;
}

void drop_below(std::vector<Candidate>& candidates, double weight) {
  std::erase_if(candidates,
                [&](const Candidate& candidate) { return candidate.probability < weight; });
}

// The candidates in order of their keys up to the one with which they reach the weight. Sorts no
// more of them than that takes.
std::vector<Candidate> until(std::vector<Keyed>& keyed, double weight) {
  std::vector<Candidate> kept;
  double sum = 0.0;
  std::size_t sorted = 0;
  std::size_t step = kFirstSorted;
  for (std::size_t i = 0; i < keyed.size() && (kept.empty() || sum < weight); ++i) {
    if (i == sorted) {
      const auto begin = keyed.begin() + static_cast<std::ptrdiff_t>(sorted);
      sorted = std::min(keyed.size(), sorted + step);
      step *= kSortedGrowth;
      const auto end = keyed.begin() + static_cast<std::ptrdiff_t>(sorted);
      if (end != keyed.end()) {
        std::nth_element(begin, end, keyed.end(), comes_before);
      }
      std::sort(begin, end, comes_before);
    }
    sum += keyed[i].candidate.probability;
    kept.push_back(keyed[i].candidate);
  }
  return kept;
}

}  // namespace

void keep_typical(std::vector<Candidate>& candidates, double share) {
  const double sum = total(candidates);
  const double log_sum = std::log(sum);
  std::vector<Keyed> keyed;
  keyed.reserve(candidates.size());
  double entropy = 0.0;
  for (const Candidate& candidate : candidates) {
    const double surprise = log_sum - std::log(candidate.probability);
    entropy += candidate.probability / sum * surprise;
    keyed.push_back({surprise, candidate});
  }
  for (Keyed& entry : keyed) {
    entry.key = std::abs(entry.key - entropy);
  }
  candidates = until(keyed, share * sum);
}

void keep_top_p(std::vector<Candidate>& candidates, double share) {
  const double sum = total(candidates);
  // Candidates below this hold less than 1 - share together, so none of them is needed; halved
  // against rounding.
  drop_below(candidates, 0.5 * (1.0 - share) * sum / static_cast<double>(candidates.size()));
  std::vector<Keyed> keyed;
  keyed.reserve(candidates.size());
  for (const Candidate& candidate : candidates) {
    keyed.push_back({-candidate.probability, candidate});
  }
  candidates = until(keyed, share * sum);
}

void keep_min_p(std::vector<Candidate>& candidates, double ratio) {
  double most = 0.0;
  for (const Candidate& candidate : candidates) {
    most = std::max(most, candidate.probability);
  }
  drop_below(candidates, ratio * most);
}

void normalise(std::vector<Candidate>& candidates) {
  const auto by_token = [](const Candidate& a, const Candidate& b) { return a.token < b.token; };
  if (!std::is_sorted(candidates.begin(), candidates.end(), by_token)) {
    std::sort(candidates.begin(), candidates.end(), by_token);
  }
  const double sum = total(candidates);
  for (Candidate& candidate : candidates) {
    candidate.probability /= sum;
  }
}

}  // namespace zllm::sampling
