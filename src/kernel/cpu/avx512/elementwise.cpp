#include <zllm/kernel/cpu/avx512/elementwise.h>

#include <zllm/kernel/cpu/avx512/simd-inl.h>
#include <zllm/kernel/cpu/elementwise-inl.h>

namespace zllm::kernel::cpu::avx512 {

const ElementwiseKernels& elementwise_kernels() {
  static constexpr ElementwiseKernels kernels = make_elementwise_kernels<Simd>();
  return kernels;
}

}  // namespace zllm::kernel::cpu::avx512
