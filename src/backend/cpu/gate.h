#pragma once

#include <zllm/activation/spec.h>
#include <zllm/kernel/cpu/elementwise.h>

namespace zllm::backend::cpu {

// The activation of gates (left) and ups (right); activation/reference.h. The output may be either.
void pass_gate(const kernel::cpu::ElementwiseKernels& kernels, const activation::Spec& spec,
               const kernel::cpu::BinaryParams& rows);

}  // namespace zllm::backend::cpu
