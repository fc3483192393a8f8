#pragma once

#include <zllm/kernel/cpu/linear.h>

namespace zllm::kernel::cpu::amx {

const LinearKernels& linear_kernels();

}  // namespace zllm::kernel::cpu::amx
