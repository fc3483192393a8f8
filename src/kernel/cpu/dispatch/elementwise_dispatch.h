#pragma once

#include <zllm/kernel/cpu/elementwise.h>
#include <zllm/kernel/cpu/isa.h>

namespace zllm::kernel::cpu {

// The table of an instruction set that this processor has (best_isa).
const ElementwiseKernels& elementwise_kernels(Isa isa);

}  // namespace zllm::kernel::cpu
