#include <zllm/kernel/cpu/scalar/delta_rule.h>

#include <zllm/kernel/cpu/delta_rule-inl.h>
#include <zllm/kernel/cpu/scalar/simd-inl.h>

namespace zllm::kernel::cpu::scalar {

const DeltaRuleKernels& delta_rule_kernels() {
  static constexpr DeltaRuleKernels kernels = make_delta_rule_kernels<Simd>();
  return kernels;
}

}  // namespace zllm::kernel::cpu::scalar
