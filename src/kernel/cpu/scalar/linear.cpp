#include <zllm/kernel/cpu/scalar/linear.h>

#include <zllm/kernel/cpu/scalar/quantize-inl.h>

namespace zllm::kernel::cpu::scalar {

const LinearKernels& linear_kernels() {
  static constexpr LinearKernels kernels = {.quantize_row = quantize_row};
  return kernels;
}

}  // namespace zllm::kernel::cpu::scalar
