#include <zllm/kernel/cpu/dispatch/latent_dispatch.h>

#include <zllm/kernel/cpu/scalar/latent.h>
#if defined(__x86_64__)
#include <zllm/kernel/cpu/avx2/latent.h>
#include <zllm/kernel/cpu/avx512/latent.h>
#endif

namespace zllm::kernel::cpu {

const LatentKernels& latent_kernels(Isa isa) {
#if defined(__x86_64__)
  switch (isa) {
    case Isa::avx512:
      return avx512::latent_kernels();
    case Isa::avx2:
      return avx2::latent_kernels();
    case Isa::scalar:
      break;
  }
#endif
  return scalar::latent_kernels();
}

}  // namespace zllm::kernel::cpu
