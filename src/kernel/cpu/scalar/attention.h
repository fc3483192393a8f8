#pragma once

#include <zllm/kernel/cpu/attention.h>

namespace zllm::kernel::cpu::scalar {

const AttentionKernels& attention_kernels();

}  // namespace zllm::kernel::cpu::scalar
