#include <zllm/backend/cpu/gate.h>

#include <zllm/base/check.h>

namespace zllm::backend::cpu {

void pass_gate(const kernel::cpu::ElementwiseKernels& kernels, const activation::Spec& spec,
               const kernel::cpu::BinaryParams& rows) {
  const kernel::cpu::GateParams gate{.rows = rows,
                                     .limit = static_cast<float>(spec.limit),
                                     .alpha = static_cast<float>(spec.alpha),
                                     .beta = static_cast<float>(spec.beta),
                                     .linear_beta = static_cast<float>(spec.linear_beta)};
  switch (spec.gate) {
    case activation::Gate::swiglu:
      return kernels.swiglu(rows);
    case activation::Gate::clamped_swiglu:
      return kernels.clamped_swiglu(gate);
    case activation::Gate::swiglu_oai:
      return kernels.swiglu_oai(gate);
    case activation::Gate::geglu_tanh:
      return kernels.geglu_tanh(rows);
    case activation::Gate::situ:
      return kernels.situ(gate);
  }
  ZLLM_CHECK(false, "a gate outside its enumeration");
}

}  // namespace zllm::backend::cpu
