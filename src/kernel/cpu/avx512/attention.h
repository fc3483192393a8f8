#pragma once

#include <zllm/kernel/cpu/attention.h>

namespace zllm::kernel::cpu::avx512 {

const AttentionKernels& attention_kernels();

}  // namespace zllm::kernel::cpu::avx512
