#pragma once

#include <span>
#include <vector>

#include <zllm/attention/delta_rule/spec.h>

namespace zllm::attention::delta_rule {

// silu of the causal convolution of `mixed` [rows, channels] after the rows of `tail`, which then
// holds the last taps - 1 of all of them. taps [channels, taps], the last one for the row itself.
std::vector<double> convolve(const Spec& spec, std::span<const float> taps,
                             std::span<const float> mixed, std::vector<float>& tail);

}  // namespace zllm::attention::delta_rule
