#pragma once

#include <cstdint>
#include <span>

#include <zllm/attention/gqa/spec.h>
#include <zllm/base/result.h>

// What grouped query attention means (Vaswani et al. 2017, arXiv:1706.03762; Ainslie et al. 2023,
// arXiv:2305.13245). f32 in and out, everything between in f64. For query row r at position p and
// query head h, with kv head g = h / (query_heads / kv_heads):
//   score_j  = scale * (query[r, h] . key[j, g]), with softcap cap * tanh(score_j / cap)
//   m        = max over visible j of score_j, and of sink[h] where there are sinks
//   weight_j = exp(score_j - m) / (sum over visible k of exp(score_k - m) + exp(sink[h] - m))
//   output   = sum over visible j of weight_j * value[j, g]
// A key is visible by `visible` in spec.h. A sink is a learned logit that takes weight and has no
// value; neither scale nor softcap apply to it (gpt-oss). A row that sees no key yields zeros.
namespace zllm::attention::gqa {

struct Inputs {
  std::span<const float> queries;                     // [rows, query_heads, head]
  std::span<const std::uint64_t> query_positions;     // [rows]
  std::span<const float> keys;                        // [count, kv_heads, head], turned by rope
  std::span<const float> values;                      // [count, kv_heads, value width]
  std::span<const std::uint64_t> key_positions = {};  // [count]; empty: key j is at position j
  std::span<const float> sinks = {};                  // [query_heads] or empty
};

// Refuses by name what is out of range.
Status validate(const Spec& spec);

// output [rows, query_heads, value width]. An error names the operand, row, head and lane of a
// number that takes part and is NaN or infinite; the output is then unspecified. A sink of minus
// infinity is none. Keys that no row sees are not read.
Status attend(const Spec& spec, const Inputs& inputs, std::span<float> output);

}  // namespace zllm::attention::gqa
