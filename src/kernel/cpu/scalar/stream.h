#pragma once

#include <zllm/kernel/cpu/stream.h>

namespace zllm::kernel::cpu::scalar {

const StreamKernels& stream_kernels();

}  // namespace zllm::kernel::cpu::scalar
