#include <zllm/kernel/cpu/dispatch/index_dispatch.h>

#include <zllm/kernel/cpu/scalar/index.h>
#if defined(__x86_64__)
#include <zllm/kernel/cpu/avx2/index.h>
#include <zllm/kernel/cpu/avx512/index.h>
#endif

namespace zllm::kernel::cpu {

const IndexKernels& index_kernels(Isa isa) {
#if defined(__x86_64__)
  switch (isa) {
    case Isa::avx512:
      return avx512::index_kernels();
    case Isa::avx2:
      return avx2::index_kernels();
    case Isa::scalar:
      break;
  }
#endif
  return scalar::index_kernels();
}

}  // namespace zllm::kernel::cpu
