#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/moe/spec.h>

// What routing means (Shazeer et al. 2017, arXiv:1701.06538; DeepSeek-V3, arXiv:2412.19437).
// f32 logits, all else in f64; choices are compared as exact sums, so that a tiny score beside a
// large bias still orders experts.
//   score   = softmax over all experts, or sigmoid, of the logits
//   choice  = score + bias
//   groups  : a group's value is the sum of its two best choices (of its only one); the kept_groups
//             best stay (ties to the lower group), choices of the others become minus infinity
//   experts : the top_k best choices, of equal ones the lower index
//   weight  = score / (sum of the chosen scores + 1e-20) where normalised, times scaling
namespace zllm::moe {

// The chosen experts of rows, ascending by expert in each row.
struct Routing {
  std::uint32_t top_k = 0;
  std::vector<std::uint32_t> experts;  // [rows, top_k]
  std::vector<float> weights;          // [rows, top_k]

  std::size_t rows() const { return top_k == 0 ? 0 : experts.size() / top_k; }
};

Status validate(const RouterSpec& spec);

// logits [rows, experts]; bias [experts] or empty. An error names the row and expert of a NaN
// or infinity.
Result<Routing> route(const RouterSpec& spec, std::span<const float> logits,
                      std::span<const float> bias);

}  // namespace zllm::moe
