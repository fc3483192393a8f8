#include <zllm/kernel/cpu/avx2/index.h>

#include <zllm/kernel/cpu/avx2/simd-inl.h>
#include <zllm/kernel/cpu/index_pool-inl.h>
#include <zllm/kernel/cpu/index_score-inl.h>

namespace zllm::kernel::cpu::avx2 {

const IndexKernels& index_kernels() {
  static constexpr IndexKernels kernels = {
      .append = cpu::index_append<Simd>,
      .scores = cpu::index_scores<Simd>,
  };
  return kernels;
}

}  // namespace zllm::kernel::cpu::avx2
