#pragma once

#include <zllm/kernel/cpu/elementwise.h>

namespace zllm::kernel::cpu::scalar {

const ElementwiseKernels& elementwise_kernels();

}  // namespace zllm::kernel::cpu::scalar
