#pragma once

#include <zllm/kernel/cpu/linear.h>

namespace zllm::kernel::cpu::avx512 {

const LinearKernels& linear_kernels();

}  // namespace zllm::kernel::cpu::avx512
