#pragma once

#include <cstdint>
#include <span>

#include <zllm/attention/sparse/selection.h>
#include <zllm/attention/sparse/spec.h>
#include <zllm/base/result.h>

// Pooled-key selection (kpool). Pool p holds positions [p * pool, (p + 1) * pool). Per channel c,
//   a_m       = softmax over members m of (gate[m, c] + position_bias[m, c])
//   pooled[c] = sum over m of a_m * key[m, c]
// The row at position t scores the pools that end at or before t, as the indexer scores keys, keeps
// the best top_k / pool of them (ties to the lower pool), all their members, and, with
// select_tail, every position from pool * floor((t + 1) / pool) to t. f32 in, f64 between.
namespace zllm::attention::sparse {

struct KpoolInputs {
  std::span<const float> queries;                  // [rows, heads, width]
  std::span<const float> weights;                  // [rows, heads]
  std::span<const std::uint64_t> query_positions;  // [rows]
  std::span<const float> keys;                     // [count, width], key j at position j
  std::span<const float> gates;                    // [count, width]
  std::span<const float> position_bias;            // [pool, width]
};

Status validate(const KpoolSpec& spec);

// pooled [width] of the members' keys and gates, [pool, width] each.
void pool_key(const KpoolSpec& spec, std::span<const float> keys, std::span<const float> gates,
              std::span<const float> position_bias, std::span<float> pooled);

// Pools that a query at this position may score: complete and not later than it.
constexpr std::uint64_t visible_pools(const KpoolSpec& spec, std::uint64_t position) {
  return (position + 1) / spec.pool;
}

Result<Selection> select_pools(const KpoolSpec& spec, const KpoolInputs& inputs);

}  // namespace zllm::attention::sparse
