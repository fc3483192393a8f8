#pragma once

#include <zllm/kernel/cpu/elementwise.h>

namespace zllm::kernel::cpu::avx2 {

const ElementwiseKernels& elementwise_kernels();

}  // namespace zllm::kernel::cpu::avx2
