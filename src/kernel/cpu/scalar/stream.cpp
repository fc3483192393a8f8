#include <zllm/kernel/cpu/scalar/stream.h>

#include <zllm/kernel/cpu/scalar/simd-inl.h>
#include <zllm/kernel/cpu/stream-inl.h>

namespace zllm::kernel::cpu::scalar {

const StreamKernels& stream_kernels() {
  static constexpr StreamKernels kernels = make_stream_kernels<Simd>();
  return kernels;
}

}  // namespace zllm::kernel::cpu::scalar
