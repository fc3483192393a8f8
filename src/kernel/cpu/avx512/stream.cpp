#include <zllm/kernel/cpu/avx512/stream.h>

#include <zllm/kernel/cpu/avx512/simd-inl.h>
#include <zllm/kernel/cpu/stream-inl.h>

namespace zllm::kernel::cpu::avx512 {

const StreamKernels& stream_kernels() {
  static constexpr StreamKernels kernels = make_stream_kernels<Simd>();
  return kernels;
}

}  // namespace zllm::kernel::cpu::avx512
