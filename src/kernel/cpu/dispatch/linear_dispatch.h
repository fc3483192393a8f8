#pragma once

#include <zllm/kernel/cpu/isa.h>
#include <zllm/kernel/cpu/linear.h>

namespace zllm::kernel::cpu {

// The table of an instruction set that this processor has (best_isa).
const LinearKernels& linear_kernels(Isa isa);

}  // namespace zllm::kernel::cpu
