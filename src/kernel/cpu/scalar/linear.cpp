#include <zllm/kernel/cpu/scalar/linear.h>

#include <zllm/kernel/cpu/scalar/packed-inl.h>
#include <zllm/kernel/cpu/scalar/plain-inl.h>
#include <zllm/kernel/cpu/scalar/quantize-inl.h>

namespace zllm::kernel::cpu::scalar {

const LinearKernels& linear_kernels() {
  static constexpr LinearKernels kernels = {.quantize_row = quantize_row,
                                            .multiply_packed = multiply_packed,
                                            .multiply_plain = multiply_plain};
  return kernels;
}

}  // namespace zllm::kernel::cpu::scalar
