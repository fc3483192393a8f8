#include <zllm/kernel/cpu/avx2/linear.h>

#include <zllm/kernel/cpu/avx2/packed-inl.h>
#include <zllm/kernel/cpu/avx2/plain-inl.h>
#include <zllm/kernel/cpu/avx2/quantize-inl.h>

namespace zllm::kernel::cpu::avx2 {

const LinearKernels& linear_kernels() {
  static constexpr LinearKernels kernels = {.quantize_row = quantize_row,
                                            .multiply_packed = multiply_packed,
                                            .multiply_plain = multiply_plain};
  return kernels;
}

}  // namespace zllm::kernel::cpu::avx2
