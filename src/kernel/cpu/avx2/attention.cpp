#include <zllm/kernel/cpu/avx2/attention.h>

#include <zllm/kernel/cpu/attention-inl.h>
#include <zllm/kernel/cpu/avx2/simd-inl.h>
#include <zllm/kernel/cpu/kv_append-inl.h>

namespace zllm::kernel::cpu::avx2 {

const AttentionKernels& attention_kernels() {
  static constexpr AttentionKernels kernels = {
      .kv_append = cpu::kv_append<Simd>,
      .attention = cpu::attention<Simd>,
      .attention_merge = cpu::attention_merge<Simd>,
  };
  return kernels;
}

}  // namespace zllm::kernel::cpu::avx2
