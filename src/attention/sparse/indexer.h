#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <zllm/attention/sparse/selection.h>
#include <zllm/attention/sparse/spec.h>
#include <zllm/base/result.h>

// The lightning indexer of DeepSeek Sparse Attention (DeepSeek-V3.2-Exp, 2025). f32 in, sums in
// f64, scores rounded to f32 last. For the query row at position p, over every key j <= p:
//   score_j = sum over heads h of weight_scale * weight[h] * relu(score_scale * query[h] . key[j])
// and the row keeps the top_k keys of the highest score, of equal scores the lower position; all of
// them where p + 1 <= top_k.
namespace zllm::attention::sparse {

struct IndexerInputs {
  std::span<const float> queries;                  // [rows, heads, width], turned by rope
  std::span<const float> weights;                  // [rows, heads]
  std::span<const std::uint64_t> query_positions;  // [rows]
  std::span<const float> keys;                     // [count, width], key j at position j
};

// Refuses by name what is out of range.
Status validate(const IndexerSpec& spec);

// scores [rows, count]; minus infinity for keys that the row does not see. An error names the
// operand and row of a number that takes part and is NaN or infinite.
Status index_scores(const IndexerSpec& spec, const IndexerInputs& inputs, std::span<float> scores);

// The `count` best of scores [0, visible), ascending by index; ties go to the lower index.
std::vector<std::uint32_t> top_indices(std::span<const float> scores, std::size_t count);

Result<Selection> select_keys(const IndexerSpec& spec, const IndexerInputs& inputs);

}  // namespace zllm::attention::sparse
