#pragma once

#include <zllm/kernel/cpu/isa.h>
#include <zllm/kernel/cpu/stream.h>

namespace zllm::kernel::cpu {

// The table of an instruction set that this processor has (best_isa).
const StreamKernels& stream_kernels(Isa isa);

}  // namespace zllm::kernel::cpu
