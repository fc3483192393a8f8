#include <zllm/kernel/cpu/amx/linear.h>

#include <zllm/kernel/cpu/amx/packed-inl.h>
#include <zllm/kernel/cpu/avx512/linear.h>

namespace zllm::kernel::cpu::amx {

const LinearKernels& linear_kernels() {
  static const LinearKernels kernels = {.quantize_row = avx512::linear_kernels().quantize_row,
                                        .multiply_packed = multiply_packed,
                                        .multiply_plain = avx512::linear_kernels().multiply_plain};
  return kernels;
}

}  // namespace zllm::kernel::cpu::amx
