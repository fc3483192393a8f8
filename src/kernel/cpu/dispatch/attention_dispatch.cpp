#include <zllm/kernel/cpu/dispatch/attention_dispatch.h>

#include <zllm/kernel/cpu/scalar/attention.h>
#if defined(__x86_64__)
#include <zllm/kernel/cpu/avx2/attention.h>
#include <zllm/kernel/cpu/avx512/attention.h>
#endif

namespace zllm::kernel::cpu {

const AttentionKernels& attention_kernels(Isa isa) {
#if defined(__x86_64__)
  switch (isa) {
    case Isa::avx512:
      return avx512::attention_kernels();
    case Isa::avx2:
      return avx2::attention_kernels();
    case Isa::scalar:
      break;
  }
#endif
  return scalar::attention_kernels();
}

}  // namespace zllm::kernel::cpu
