#include <zllm/kernel/cpu/dispatch/linear_dispatch.h>

#include <zllm/kernel/cpu/scalar/linear.h>
#if defined(__x86_64__)
#include <zllm/kernel/cpu/avx2/linear.h>
#include <zllm/kernel/cpu/avx512/linear.h>
#endif

namespace zllm::kernel::cpu {

const LinearKernels& linear_kernels(Isa isa) {
#if defined(__x86_64__)
  switch (isa) {
    case Isa::avx512:
      return avx512::linear_kernels();
    case Isa::avx2:
      return avx2::linear_kernels();
    case Isa::scalar:
      break;
  }
#endif
  return scalar::linear_kernels();
}

}  // namespace zllm::kernel::cpu
