#pragma once

#include <zllm/kernel/cpu/stream.h>

namespace zllm::kernel::cpu::avx512 {

const StreamKernels& stream_kernels();

}  // namespace zllm::kernel::cpu::avx512
