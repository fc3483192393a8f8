#pragma once

#include <cstddef>
#include <span>

#include <zllm/norm/spec.h>

// What normalisation means. f32 in and out, sums in f64; every row stands alone.
//   rms(x) = x / sqrt(mean(x^2) + epsilon)        Zhang, Sennrich 2019, arXiv:1910.07467
//   layer  = (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) * w + b
//                                                 Ba, Kiros, Hinton 2016, arXiv:1607.06450
//   l2(x)  = x / sqrt(sum(x^2) + epsilon)
// Grouped norms are rows of the group's width, heads are rows of the head's width.
namespace zllm::norm {

// Operands that the flavour does not use stay empty; those it uses must be there.
struct Inputs {
  std::span<const float> rows;         // [count, width]
  std::size_t width = 0;               // above 0
  std::span<const float> weight = {};  // [width]
  std::span<const float> bias = {};    // [width], layer alone
  std::span<const float> gate = {};  // [count, width], gated flavours alone: z before its function
};

// output [count, width] may be the rows themselves. NaN and infinities go through as arithmetic
// takes them.
void normalise(const Spec& spec, const Inputs& inputs, std::span<float> output);

}  // namespace zllm::norm
