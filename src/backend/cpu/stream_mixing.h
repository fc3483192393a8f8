#pragma once

#include <span>

#include <zllm/residual/spec.h>

namespace zllm::backend::cpu {

// The mixing weights of one row (residual/hyper_connection.h) from its logits, which are still
// without scale and base: before [streams], then mixing: after [streams], combine [streams^2].
// f64 between; at most kernel::cpu::kStreams streams.
void mix_row(const residual::HyperConnectionSpec& spec, std::span<const float> logits,
             double inverse_norm, const float *base, const float *scale, std::span<float> before,
             std::span<float> mixing);

}  // namespace zllm::backend::cpu
