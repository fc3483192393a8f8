#include <zllm/kernel/cpu/dispatch/delta_rule_dispatch.h>

#include <zllm/kernel/cpu/scalar/delta_rule.h>
#if defined(__x86_64__)
#include <zllm/kernel/cpu/avx2/delta_rule.h>
#include <zllm/kernel/cpu/avx512/delta_rule.h>
#endif

namespace zllm::kernel::cpu {

const DeltaRuleKernels& delta_rule_kernels(Isa isa) {
#if defined(__x86_64__)
  switch (isa) {
    case Isa::avx512:
      return avx512::delta_rule_kernels();
    case Isa::avx2:
      return avx2::delta_rule_kernels();
    case Isa::scalar:
      break;
  }
#endif
  return scalar::delta_rule_kernels();
}

}  // namespace zllm::kernel::cpu
