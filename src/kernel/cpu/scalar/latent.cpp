#include <zllm/kernel/cpu/scalar/latent.h>

#include <zllm/kernel/cpu/decode-inl.h>
#include <zllm/kernel/cpu/latent_append-inl.h>
#include <zllm/kernel/cpu/latent_attention-inl.h>
#include <zllm/kernel/cpu/scalar/simd-inl.h>
#include <zllm/kernel/cpu/transposed_product-inl.h>

namespace zllm::kernel::cpu::scalar {

const LatentKernels& latent_kernels() {
  static constexpr LatentKernels kernels = {
      .append = cpu::latent_append<Simd>,
      .multiply_transposed = cpu::multiply_transposed<Simd>,
      .decode = cpu::decode_common<Simd>,
      .attention = cpu::latent_attention<Simd>,
      .attention_merge = cpu::latent_merge<Simd>,
  };
  return kernels;
}

}  // namespace zllm::kernel::cpu::scalar
