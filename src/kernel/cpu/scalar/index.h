#pragma once

#include <zllm/kernel/cpu/index.h>

namespace zllm::kernel::cpu::scalar {

const IndexKernels& index_kernels();

}  // namespace zllm::kernel::cpu::scalar
