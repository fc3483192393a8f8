#include <zllm/sampling/truncation.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace zllm::sampling {
namespace {

constexpr std::size_t kSortLimit = 64;  // a range this small is sorted instead of halved

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

double total(const std::vector<Keyed>& keyed, std::size_t begin, std::size_t end) {
  double sum = 0.0;
  for (std::size_t i = begin; i < end; ++i) {
    sum += keyed[i].candidate.probability;
  }
  return sum;
}

// The entry with which, in order of keys, the entries reach the weight; the last where rounding
// keeps them from it. Halves the range that holds it, so the work is linear. Shuffles `keyed`.
Keyed boundary(std::vector<Keyed>& keyed, double weight) {
  const auto at = [&](std::size_t i) { return keyed.begin() + static_cast<std::ptrdiff_t>(i); };
  std::size_t begin = 0;
  std::size_t end = keyed.size();
  double missing = weight;
  while (end - begin > kSortLimit) {
    const std::size_t middle = begin + (end - begin) / 2;
    std::nth_element(at(begin), at(middle), at(end), comes_before);
    const double lower = total(keyed, begin, middle);
    if (lower >= missing) {
      end = middle;
    } else {
      missing -= lower;
      begin = middle;
    }
  }
  std::sort(at(begin), at(end), comes_before);
  for (std::size_t i = begin; i + 1 < end; ++i) {
    missing -= keyed[i].candidate.probability;
    if (missing <= 0.0) {
      return keyed[i];
    }
  }
  return keyed[end - 1];
}

// Keeps the candidates up to that entry, in the order that `keyed` has.
void keep_until(std::vector<Candidate>& candidates, const std::vector<Keyed>& keyed,
                double weight) {
  std::vector<Keyed> shuffled = keyed;
  const Keyed last = boundary(shuffled, weight);
  candidates.clear();
  for (const Keyed& entry : keyed) {
    if (!comes_before(last, entry)) {
      candidates.push_back(entry.candidate);
    }
  }
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
  keep_until(candidates, keyed, share * sum);
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
  keep_until(candidates, keyed, share * sum);
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
