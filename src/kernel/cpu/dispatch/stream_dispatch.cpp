#include <zllm/kernel/cpu/dispatch/stream_dispatch.h>

#include <zllm/kernel/cpu/scalar/stream.h>
#if defined(__x86_64__)
#include <zllm/kernel/cpu/avx2/stream.h>
#include <zllm/kernel/cpu/avx512/stream.h>
#endif

namespace zllm::kernel::cpu {

const StreamKernels& stream_kernels(Isa isa) {
#if defined(__x86_64__)
  switch (isa) {
    case Isa::avx512:
      return avx512::stream_kernels();
    case Isa::avx2:
      return avx2::stream_kernels();
    case Isa::scalar:
      break;
  }
#endif
  return scalar::stream_kernels();
}

}  // namespace zllm::kernel::cpu
