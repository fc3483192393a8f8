#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

// The tasks of several segments' attention, numbered on over all of them.
namespace zllm::backend::cpu {

// The last piece of work whose first index is not above `index`.
template <class Work>
const Work& owner(const std::vector<Work>& works, std::size_t index, std::size_t Work::*first) {
  const auto next =
      std::upper_bound(works.begin(), works.end(), index,
                       [&](std::size_t value, const Work& work) { return value < work.*first; });
  return *(next - 1);
}

// Whole cache lines, so that the memory of threads and segments shares none.
constexpr std::size_t aligned_floats(std::size_t floats) { return (floats + 15) / 16 * 16; }

}  // namespace zllm::backend::cpu
