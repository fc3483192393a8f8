#pragma once

#include <zllm/kernel/cpu/activation_block.h>

namespace zllm::kernel::cpu {

// Matrix products of one instruction set. Thread-safe: a call touches what its parameters name.
struct LinearKernels {
  void (*quantize_row)(const QuantizeRow& params);
};

}  // namespace zllm::kernel::cpu
