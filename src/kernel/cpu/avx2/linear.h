#pragma once

#include <zllm/kernel/cpu/linear.h>

namespace zllm::kernel::cpu::avx2 {

const LinearKernels& linear_kernels();

}  // namespace zllm::kernel::cpu::avx2
