#pragma once

#include <zllm/kernel/cpu/latent.h>

namespace zllm::kernel::cpu::avx2 {

const LatentKernels& latent_kernels();

}  // namespace zllm::kernel::cpu::avx2
