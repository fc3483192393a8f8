#pragma once

#include <zllm/kernel/cpu/delta_rule.h>

namespace zllm::kernel::cpu::scalar {

const DeltaRuleKernels& delta_rule_kernels();

}  // namespace zllm::kernel::cpu::scalar
