#include <zllm/sampling/ranking.h>

#include <algorithm>
#include <array>

#include <zllm/base/check.h>

namespace zllm::sampling {
namespace {

// Up to here a heap of the best beats a selection over all: most logits fail one comparison.
constexpr std::size_t kHeapLimit = 1024;
// Independent maxima, so that compilers may keep them in vector registers.
constexpr std::size_t kLanes = 16;

// Later ids lose ties, so in ascending order a logit enters only when it is strictly higher.
std::vector<Ranked> heap_of_best(std::span<const float> logits, std::size_t count) {
  std::vector<Ranked> heap;
  heap.reserve(count);
  for (std::size_t token = 0; token < logits.size(); ++token) {
    const Ranked ranked{logits[token], static_cast<TokenId>(token)};
    if (heap.size() < count) {
      heap.push_back(ranked);
      std::push_heap(heap.begin(), heap.end(), ranks_before);
    } else if (ranked.logit > heap.front().logit) {
      std::pop_heap(heap.begin(), heap.end(), ranks_before);
      heap.back() = ranked;
      std::push_heap(heap.begin(), heap.end(), ranks_before);
    }
  }
  return heap;
}

std::vector<Ranked> selection(std::span<const float> logits, std::size_t count) {
  std::vector<Ranked> all(logits.size());
  for (std::size_t token = 0; token < logits.size(); ++token) {
    all[token] = {logits[token], static_cast<TokenId>(token)};
  }
  if (count < all.size()) {
    std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count), all.end(),
                     ranks_before);
    all.resize(count);
  }
  return all;
}

}  // namespace

Ranked highest(std::span<const float> logits) {
  ZLLM_CHECK(!logits.empty(), "sampling: the highest of no logits");
  std::array<float, kLanes> lanes;
  lanes.fill(logits[0]);
  std::size_t token = 0;
  for (; token + kLanes <= logits.size(); token += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const float logit = logits[token + lane];
      lanes[lane] = logit > lanes[lane] ? logit : lanes[lane];
    }
  }
  float most = *std::max_element(lanes.begin(), lanes.end());
  for (; token < logits.size(); ++token) {
    most = std::max(most, logits[token]);
  }
  const auto first = std::find(logits.begin(), logits.end(), most);
  return {most, static_cast<TokenId>(first - logits.begin())};
}

std::vector<Ranked> top(std::span<const float> logits, std::size_t count) {
  if (count == 0) {
    return {};
  }
  std::vector<Ranked> best =
      count <= kHeapLimit ? heap_of_best(logits, count) : selection(logits, count);
  std::sort(best.begin(), best.end(), ranks_before);
  return best;
}

}  // namespace zllm::sampling
