#pragma once

#include <zllm/kernel/cpu/delta_rule.h>

namespace zllm::kernel::cpu::avx512 {

const DeltaRuleKernels& delta_rule_kernels();

}  // namespace zllm::kernel::cpu::avx512
