#pragma once

#include <zllm/kernel/cpu/elementwise.h>

namespace zllm::kernel::cpu::avx512 {

const ElementwiseKernels& elementwise_kernels();

}  // namespace zllm::kernel::cpu::avx512
