#pragma once

#include <zllm/kernel/cpu/isa.h>
#include <zllm/kernel/cpu/latent.h>

namespace zllm::kernel::cpu {

// The table of an instruction set that this processor has (best_isa).
const LatentKernels& latent_kernels(Isa isa);

}  // namespace zllm::kernel::cpu
