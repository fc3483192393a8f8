#pragma once

#include <zllm/kernel/cpu/index.h>

namespace zllm::kernel::cpu::avx512 {

const IndexKernels& index_kernels();

}  // namespace zllm::kernel::cpu::avx512
