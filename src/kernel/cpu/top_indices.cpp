#include <zllm/kernel/cpu/top_indices.h>

#include <algorithm>
#include <bit>
#include <functional>

namespace zllm::kernel::cpu {
namespace {

// Scores are counted by their leading bits, so that one pass finds which of them are certainly in
// and leaves few to compare.
constexpr unsigned kLeadingBits = 12;
constexpr unsigned kShift = 32 - kLeadingBits;
constexpr std::size_t kBins = std::size_t{1} << kLeadingBits;
// Scores are alike, so neighbours count into the same bin: two histograms halve that wait.
constexpr std::size_t kHistograms = 2;

// Ascending as the scores are; zeros of either sign are equal.
std::uint32_t ordered(float score) {
  const auto bits = std::bit_cast<std::uint32_t>(score + 0.0F);
  const std::uint32_t flip = (0U - (bits >> 31)) | 0x80000000U;
  return bits ^ flip;
}

bool finite(std::uint32_t order) {
  constexpr std::uint32_t kInfinity = 0xFF800000U;  // in the order, both ends are beyond these
  return order < kInfinity && order > ~kInfinity;
}

// Histograms of leading bits; the first index that is not finite, if any.
std::optional<std::size_t> count_scores(std::span<const float> scores,
                                        std::vector<std::uint32_t>& histogram) {
  histogram.assign(kHistograms * kBins, 0);
  bool all_finite = true;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const std::uint32_t order = ordered(scores[i]);
    all_finite = all_finite && finite(order);
    ++histogram[i % kHistograms * kBins + (order >> kShift)];
  }
  if (all_finite) {
    return std::nullopt;
  }
  const auto bad = std::ranges::find_if(scores, [](float s) { return !finite(ordered(s)); });
  return static_cast<std::size_t>(bad - scores.begin());
}

// The least score that is in, in order, and how many of those that equal it.
struct Threshold {
  std::uint32_t order;
  std::size_t equal;
};

Threshold find_threshold(std::span<const float> scores, std::size_t keep,
                         TopIndicesScratch& scratch) {
  std::size_t left = keep;
  std::size_t bin = kBins - 1;
  const auto count = [&](std::size_t b) {
    return scratch.histogram[b] + scratch.histogram[kBins + b];
  };
  while (count(bin) < left) {
    left -= count(bin);
    --bin;
  }
  scratch.candidates.resize(count(bin) + 1);
  std::size_t found = 0;
  for (const float score : scores) {
    const std::uint32_t order = ordered(score);
    scratch.candidates[found] = order;
    found += (order >> kShift) == bin ? 1 : 0;
  }
  scratch.candidates.pop_back();
  const auto last = scratch.candidates.begin() + static_cast<std::ptrdiff_t>(left - 1);
  std::nth_element(scratch.candidates.begin(), last, scratch.candidates.end(), std::greater<>());
  const std::uint32_t order = *last;
  const auto above = std::count_if(scratch.candidates.begin(), last,
                                   [order](std::uint32_t value) { return value > order; });
  return {.order = order, .equal = left - static_cast<std::size_t>(above)};
}

}  // namespace

std::optional<std::size_t> top_indices(std::span<const float> scores, std::size_t keep,
                                       TopIndicesScratch& scratch, std::uint32_t *out) {
  if (const auto bad = count_scores(scores, scratch.histogram)) {
    return bad;
  }
  if (keep == 0) {
    return std::nullopt;
  }
  Threshold threshold = find_threshold(scores, keep, scratch);
  std::size_t taken = 0;
  for (std::size_t i = 0; i < scores.size() && taken < keep; ++i) {
    const std::uint32_t order = ordered(scores[i]);
    const bool equal = order == threshold.order && threshold.equal > 0;
    threshold.equal -= equal ? 1 : 0;
    out[taken] = static_cast<std::uint32_t>(i);
    taken += order > threshold.order || equal ? 1 : 0;
  }
  return std::nullopt;
}

}  // namespace zllm::kernel::cpu
