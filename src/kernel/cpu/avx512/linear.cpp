#include <zllm/kernel/cpu/avx512/linear.h>

#include <zllm/kernel/cpu/avx512/packed-inl.h>
#include <zllm/kernel/cpu/avx512/plain-inl.h>
#include <zllm/kernel/cpu/avx512/quantize-inl.h>

namespace zllm::kernel::cpu::avx512 {

const LinearKernels& linear_kernels() {
  static constexpr LinearKernels kernels = {.quantize_row = quantize_row,
                                            .multiply_packed = multiply_packed,
                                            .multiply_plain = multiply_plain};
  return kernels;
}

}  // namespace zllm::kernel::cpu::avx512
