#pragma once

#include <cstdint>
#include <span>

#include <zllm/attention/mla/spec.h>
#include <zllm/attention/sparse/selection.h>
#include <zllm/base/result.h>

// What multi-head latent attention means (DeepSeek-V2, arXiv:2405.04434). f32 in and out, f64
// between. Position j keeps a latent c_j and a key k_j shared by all heads. With A_h [nope, latent]
// and B_h [value, latent] of head h, for the query row at position p, over the keys j <= p (of the
// row's selection where there is one):
//   expanded:  score_j = scale * (query_nope . (A_h c_j) + query_rope . k_j)
//              output  = sum over j of softmax(score)_j * (B_h c_j)
//   absorbed:  score_j = scale * ((A_h^T query_nope) . c_j + query_rope . k_j)
//              output  = B_h (sum over j of softmax(score)_j * c_j)
// Both are equal in exact arithmetic. A row that sees no key yields zeros.
namespace zllm::attention::mla {

struct Inputs {
  std::span<const float> queries;  // [rows, heads, nope + rope]; the rope lanes last, turned
  std::span<const std::uint64_t> query_positions;  // [rows]
  std::span<const float> latents;                  // [count, latent], normalised
  std::span<const float> shared_keys = {};         // [count, rope], turned
  std::span<const float> up;  // [heads, nope + value, latent]: A_h, then B_h, of every head
  const sparse::Selection *selection = nullptr;  // null: every key j <= p
};

Status validate(const Spec& spec);

// output [rows, heads, value]. An error names the operand, row and lane of a number that takes part
// and is NaN or infinite. Keys that no row sees are not read.
Status attend_expanded(const Spec& spec, const Inputs& inputs, std::span<float> output);
Status attend_absorbed(const Spec& spec, const Inputs& inputs, std::span<float> output);

}  // namespace zllm::attention::mla
