#include <zllm/kernel/cpu/dispatch/elementwise_dispatch.h>

#include <zllm/kernel/cpu/scalar/elementwise.h>
#if defined(__x86_64__)
#include <zllm/kernel/cpu/avx2/elementwise.h>
#include <zllm/kernel/cpu/avx512/elementwise.h>
#endif

namespace zllm::kernel::cpu {

const ElementwiseKernels& elementwise_kernels(Isa isa) {
#if defined(__x86_64__)
  switch (isa) {
    case Isa::avx512:
      return avx512::elementwise_kernels();
    case Isa::avx2:
      return avx2::elementwise_kernels();
    case Isa::scalar:
      break;
  }
#endif
  return scalar::elementwise_kernels();
}

}  // namespace zllm::kernel::cpu
