#include <zllm/kernel/cpu/avx512/delta_rule.h>

#include <zllm/kernel/cpu/avx512/simd-inl.h>
#include <zllm/kernel/cpu/delta_rule-inl.h>

namespace zllm::kernel::cpu::avx512 {

const DeltaRuleKernels& delta_rule_kernels() {
  static constexpr DeltaRuleKernels kernels = make_delta_rule_kernels<Simd>();
  return kernels;
}

}  // namespace zllm::kernel::cpu::avx512
