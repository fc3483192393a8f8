#include <zllm/kernel/cpu/avx2/stream.h>

#include <zllm/kernel/cpu/avx2/simd-inl.h>
#include <zllm/kernel/cpu/stream-inl.h>

namespace zllm::kernel::cpu::avx2 {

const StreamKernels& stream_kernels() {
  static constexpr StreamKernels kernels = make_stream_kernels<Simd>();
  return kernels;
}

}  // namespace zllm::kernel::cpu::avx2
