#pragma once

#include <zllm/kernel/cpu/latent.h>

namespace zllm::kernel::cpu::avx512 {

const LatentKernels& latent_kernels();

}  // namespace zllm::kernel::cpu::avx512
