#pragma once

#include <zllm/kernel/cpu/index.h>

// Pools lie in the lanes: pages hold their keys transposed. Pages that hold few pools are laid
// side by side first.
namespace zllm::kernel::cpu {

// Floats from one lane of the keys to the next one in scratch: a page's columns are copied as whole
// vectors, the last of which may reach beyond the group.
constexpr std::size_t kGroupStride = kPageTokens + kValuePadding;

// Index heads that share a loaded vector of keys: 16 sums of the 32 registers, or 8 of 16.
template <class S>
constexpr std::size_t kIndexHeads = S::kLanes == 16 ? 8 : 4;

// index.cpp counts the arrays.
struct IndexBlock {
  float *keys;     // [width][kGroupStride]
  float *scores;   // [kPageTokens]
  float *queries;  // [rows], in each tiles of heads [width][heads of the tile]
  float *weights;  // [rows][heads], scaled
};

// Consecutive pools side by side.
struct IndexGroup {
  const float *keys;
  std::size_t stride;
  std::size_t first;  // pool
  std::size_t count;
};

template <class S>
void pack_index_queries(const IndexScoreParams& params, const IndexTask& task,
                        const IndexBlock& block) {
  constexpr std::size_t kTile = kIndexHeads<S>;
  float *to = block.queries;
  float *weight = block.weights;
  for (std::size_t row = task.first_row; row < task.last_row; ++row) {
    const float *const queries = params.queries + row * params.query_row_stride;
    for (std::size_t head = 0; head < params.heads; head += kTile) {
      const std::size_t heads = params.heads - head < kTile ? params.heads - head : kTile;
      for (std::size_t d = 0; d < params.width; ++d) {
        for (std::size_t h = 0; h < heads; ++h) {
          *to++ = queries[(head + h) * params.width + d];
        }
      }
    }
    for (std::size_t head = 0; head < params.heads; ++head) {
      *weight++ = params.weights[row * params.weight_row_stride + head] * params.weight_scale;
    }
  }
}

// Adds weight * relu(scale * query . key) of H heads in ascending order to V vectors of scores.
template <class S, std::size_t H, std::size_t V>
void score_heads(const float *queries, const float *weights, const IndexGroup& group,
                 std::size_t width, float scale, float *scores) {
  using Vec = typename S::Vec;
  Vec sums[H][V];
#pragma GCC unroll 8
  for (std::size_t h = 0; h < H; ++h) {
#pragma GCC unroll 2
    for (std::size_t v = 0; v < V; ++v) {
      sums[h][v] = S::zero();
    }
  }
  const float *keys = group.keys;
  for (std::size_t d = 0; d < width; ++d, keys += group.stride, queries += H) {
    Vec key[V];
#pragma GCC unroll 2
    for (std::size_t v = 0; v < V; ++v) {
      key[v] = S::load(keys + v * S::kLanes);
    }
#pragma GCC unroll 8
    for (std::size_t h = 0; h < H; ++h) {
      const Vec query = S::set(queries[h]);
#pragma GCC unroll 2
      for (std::size_t v = 0; v < V; ++v) {
        sums[h][v] = S::fma(query, key[v], sums[h][v]);
      }
    }
  }
#pragma GCC unroll 2
  for (std::size_t v = 0; v < V; ++v) {
    Vec score = S::load(scores + v * S::kLanes);
#pragma GCC unroll 8
    for (std::size_t h = 0; h < H; ++h) {
      // The second operand where either is NaN, so that NaN stays.
      const Vec positive = S::maximum(S::zero(), S::multiply(sums[h][v], S::set(scale)));
      score = S::fma(S::set(weights[h]), positive, score);
    }
    S::store(scores + v * S::kLanes, score);
  }
}

template <class S, std::size_t H>
void score_columns(const float *queries, const float *weights, std::size_t heads,
                   const IndexGroup& group, std::size_t width, float scale, float *scores) {
  if (heads == H) {
    IndexGroup part = group;
    std::size_t column = 0;
    for (; column + S::kLanes < group.count; column += 2 * S::kLanes) {
      part.keys = group.keys + column;
      score_heads<S, H, 2>(queries, weights, part, width, scale, scores + column);
    }
    if (column < group.count) {
      part.keys = group.keys + column;
      score_heads<S, H, 1>(queries, weights, part, width, scale, scores + column);
    }
  } else if constexpr (H > 1) {
    score_columns<S, H - 1>(queries, weights, heads, group, width, scale, scores);
  }
}

template <class S>
void score_rows(const IndexScoreParams& params, const IndexTask& task, const IndexBlock& block,
                const IndexGroup& group) {
  constexpr std::size_t kTile = kIndexHeads<S>;
  for (std::size_t row = task.first_row; row < task.last_row; ++row) {
    const std::size_t visible = visible_pools(params, row);
    if (visible <= group.first) {
      continue;
    }
    const float *const queries =
        block.queries + (row - task.first_row) * params.heads * params.width;
    const float *const weights = block.weights + (row - task.first_row) * params.heads;
    for (std::size_t i = 0; i < kPageTokens; i += S::kLanes) {
      S::store(block.scores + i, S::zero());
    }
    for (std::size_t head = 0; head < params.heads; head += kTile) {
      const std::size_t heads = params.heads - head < kTile ? params.heads - head : kTile;
      score_columns<S, kTile>(queries + head * params.width, weights + head, heads, group,
                              params.width, params.score_scale, block.scores);
    }
    const std::size_t count =
        visible - group.first < group.count ? visible - group.first : group.count;
    float *const to = params.scores + row * params.score_row_stride + group.first;
    for (std::size_t i = 0; i < count; i += S::kLanes) {
      const std::size_t left = count - i;
      S::store_first(to + i, S::load(block.scores + i), left < S::kLanes ? left : S::kLanes);
    }
  }
}

// Puts the page's pools beside the `count` that are there.
template <class S, class Element>
void gather_page(const IndexScoreParams& params, std::size_t page, std::size_t count,
                 const IndexBlock& block) {
  const std::size_t columns = index_columns(params.pool);
  const std::size_t pools = pools_in_page(page, params.pool);
  const Element *from = reinterpret_cast<const Element *>(params.pages[page]);
  float *to = block.keys + count;
  for (std::size_t d = 0; d < params.width; ++d, from += columns, to += kGroupStride) {
    for (std::size_t column = 0; column < pools; column += S::kLanes) {
      S::store(to + column, S::load(from + column));
    }
  }
}

template <class S>
void index_scores(const IndexScoreParams& params, const IndexTask& task, float *scratch) {
  IndexBlock block;
  block.keys = scratch;
  block.scores = block.keys + (params.width + 1) * kGroupStride;
  block.queries = block.scores + kPageTokens;
  block.weights = block.queries + (task.last_row - task.first_row) * params.heads * params.width;
  pack_index_queries<S>(params, task, block);
  std::size_t page = task.first_page;
  while (page < task.last_page) {
    IndexGroup group = {.keys = block.keys,
                        .stride = kGroupStride,
                        .first = first_pool(page, params.pool),
                        .count = 0};
    if (params.type == KvType::f32 && params.pool == 1) {
      group.keys = reinterpret_cast<const float *>(params.pages[page]);
      group.stride = kPageTokens;
      group.count = kPageTokens;
      score_rows<S>(params, task, block, group);
      ++page;
      continue;
    }
    while (page < task.last_page && group.count + pools_in_page(page, params.pool) <= kPageTokens) {
      if (params.type == KvType::f32) {
        gather_page<S, float>(params, page, group.count, block);
      } else {
        gather_page<S, std::uint16_t>(params, page, group.count, block);
      }
      group.count += pools_in_page(page, params.pool);
      ++page;
    }
    if (group.count > 0) {
      score_rows<S>(params, task, block, group);
    }
  }
}

}  // namespace zllm::kernel::cpu
