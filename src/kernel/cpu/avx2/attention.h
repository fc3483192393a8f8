#pragma once

#include <zllm/kernel/cpu/attention.h>

namespace zllm::kernel::cpu::avx2 {

const AttentionKernels& attention_kernels();

}  // namespace zllm::kernel::cpu::avx2
