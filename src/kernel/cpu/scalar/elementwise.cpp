#include <zllm/kernel/cpu/scalar/elementwise.h>

#include <zllm/kernel/cpu/elementwise-inl.h>
#include <zllm/kernel/cpu/scalar/simd-inl.h>

namespace zllm::kernel::cpu::scalar {

const ElementwiseKernels& elementwise_kernels() {
  static constexpr ElementwiseKernels kernels = make_elementwise_kernels<Simd>();
  return kernels;
}

}  // namespace zllm::kernel::cpu::scalar
