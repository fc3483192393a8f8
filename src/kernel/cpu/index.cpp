#include <zllm/kernel/cpu/index.h>

namespace zllm::kernel::cpu {

// The arrays of IndexBlock in index_score-inl.h.
std::size_t index_scratch_floats(const IndexScoreParams& params, std::size_t rows) {
  constexpr std::size_t kGroupStride = kPageTokens + kValuePadding;
  return (params.width + 1) * kGroupStride + kPageTokens + rows * params.heads * (params.width + 1);
}

}  // namespace zllm::kernel::cpu
