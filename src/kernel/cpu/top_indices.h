#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace zllm::kernel::cpu {

// Memory of top_indices that one thread reuses.
struct TopIndicesScratch {
  std::vector<std::uint32_t> histogram;
  std::vector<std::uint32_t> candidates;
};

// Writes the indices of the `keep` <= scores.size() best scores to out, ascending; of equal scores
// the lower index is better. Returns the first index whose score is NaN or infinite, if any; out
// then means nothing. out has room for keep + 1.
std::optional<std::size_t> top_indices(std::span<const float> scores, std::size_t keep,
                                       TopIndicesScratch& scratch, std::uint32_t *out);

}  // namespace zllm::kernel::cpu
