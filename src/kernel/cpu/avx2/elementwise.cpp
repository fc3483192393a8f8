#include <zllm/kernel/cpu/avx2/elementwise.h>

#include <zllm/kernel/cpu/avx2/simd-inl.h>
#include <zllm/kernel/cpu/elementwise-inl.h>

namespace zllm::kernel::cpu::avx2 {

const ElementwiseKernels& elementwise_kernels() {
  static constexpr ElementwiseKernels kernels = make_elementwise_kernels<Simd>();
  return kernels;
}

}  // namespace zllm::kernel::cpu::avx2
