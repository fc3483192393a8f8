#pragma once

#include <zllm/kernel/cpu/index.h>
#include <zllm/kernel/cpu/isa.h>

namespace zllm::kernel::cpu {

// The table of an instruction set that this processor has (best_isa).
const IndexKernels& index_kernels(Isa isa);

}  // namespace zllm::kernel::cpu
