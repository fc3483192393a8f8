#pragma once

#include <zllm/kernel/cpu/exponential-inl.h>
#include <zllm/kernel/cpu/latent.h>

// Products of pairs of row and head with a group of keys. Scores have the pairs in the lanes, so
// that rows of keys are used as they lie and a softmax needs no sum across lanes; contexts have
// the latent in the lanes. What a pair gets is the same in any tile.
namespace zllm::kernel::cpu {

// Rows [kPageTokens][stride] of keys in f32, of which `count` are keys.
struct LatentGroup {
  const float *keys;
  std::size_t stride;
  std::size_t count;
};

// Pairs of a task, padded to whole vectors.
template <class S>
struct LatentPairs {
  std::size_t padded;
  std::size_t width;          // of a query
  std::size_t value_width;    // of a context, padded
  float *queries;             // slabs of two vectors: [padded / slab][width][slab]
  float *scores;              // [kPageTokens][padded], then weights
  float *shrink;              // [padded]: what older sums are multiplied with
  float *largest;             // [padded]
  float *sums;                // [padded]
  float *contexts;            // [pairs][value_width]
  const float *visible_keys;  // [padded]: keys of the group that the pair sees
};

// Keys that share a loaded vector of queries: 16 sums of the 32 registers, or 8 of 16.
template <class S>
constexpr std::size_t kKeyTile = S::kLanes == 16 ? 8 : 4;

// Rows of keys that will be needed next and lie anywhere: no hardware prefetcher follows, so they
// are fetched line by line at the pace at which the present ones are used.
template <class S>
struct NextKeys {
  const std::byte *rows[kKeyTile<S>];
  std::size_t count;
  std::size_t element_bytes;
};

constexpr std::size_t kLineBytes = 64;

// Scores of a tile of keys with V vectors of pairs, sums in ascending order of the lanes of a key.
// Fetches the next rows [first_next, last_next) meanwhile.
template <class S, std::size_t V>
void latent_scores(const float *queries, const float *keys, std::size_t stride, std::size_t width,
                   float *scores, std::size_t padded, const NextKeys<S>& next,
                   std::size_t first_next, std::size_t last_next) {
  using Vec = typename S::Vec;
  constexpr std::size_t K = kKeyTile<S>;
  Vec sums[K][V];
#pragma GCC unroll 8
  for (std::size_t k = 0; k < K; ++k) {
#pragma GCC unroll 2
    for (std::size_t v = 0; v < V; ++v) {
      sums[k][v] = S::zero();
    }
  }
  const auto step = [&](std::size_t d) __attribute__((always_inline)) {
    Vec query[V];
#pragma GCC unroll 2
    for (std::size_t v = 0; v < V; ++v) {
      query[v] = S::load(queries + v * S::kLanes);
    }
#pragma GCC unroll 8
    for (std::size_t k = 0; k < K; ++k) {
      const Vec key = S::set(keys[k * stride + d]);
#pragma GCC unroll 2
      for (std::size_t v = 0; v < V; ++v) {
        sums[k][v] = S::fma(key, query[v], sums[k][v]);
      }
    }
    queries += V * S::kLanes;
  };
  const std::size_t line = kLineBytes / next.element_bytes;
  for (std::size_t d = 0; d < width;) {
    for (std::size_t row = first_next; row < last_next; ++row) {
      __builtin_prefetch(next.rows[row] + d * next.element_bytes, 0, 2);
    }
    for (const std::size_t end = d + line < width ? d + line : width; d < end; ++d) {
      step(d);
    }
  }
#pragma GCC unroll 8
  for (std::size_t k = 0; k < K; ++k) {
#pragma GCC unroll 2
    for (std::size_t v = 0; v < V; ++v) {
      S::store(scores + k * padded + v * S::kLanes, sums[k][v]);
    }
  }
}

// next_keys(key) are the rows to fetch during the tile of keys from `key` on.
template <class S, class Next>
void score_group(const LatentPairs<S>& pairs, const LatentGroup& group, Next next_keys) {
  constexpr std::size_t kSlab = 2 * S::kLanes;
  const std::size_t slabs = (pairs.padded + kSlab - 1) / kSlab;
  for (std::size_t key = 0; key < group.count; key += kKeyTile<S>) {
    const NextKeys<S> next = next_keys(key);
    for (std::size_t slab = 0; slab < slabs; ++slab) {
      const std::size_t pair = slab * kSlab;
      const auto score = pair + kSlab <= pairs.padded ? latent_scores<S, 2> : latent_scores<S, 1>;
      score(pairs.queries + pair * pairs.width, group.keys + key * group.stride, group.stride,
            pairs.width, pairs.scores + key * pairs.padded + pair, pairs.padded, next,
            next.count * slab / slabs, next.count * (slab + 1) / slabs);
    }
  }
}

// 2^x, but 0 below 2^-100: beside the largest weight, 1, that changes no sum, and subnormal numbers
// slow every operation down that meets them.
template <class S>
typename S::Vec weight_of(typename S::Vec x) {
  const typename S::Vec least = S::set(-100.0F);
  return S::select_less(x, least, S::zero(), power_of_two<S>(S::maximum(least, x)));
}

// Turns scores into weights relative to the new largest score. A pair that sees nothing of the
// group keeps its state; keys that a pair does not see have weight 0.
template <class S>
void weigh_group(const LatentPairs<S>& pairs, std::size_t keys, float scale) {
  using Vec = typename S::Vec;
  const Vec factor = S::set(scale * kLog2E);
  const Vec lowest = S::set(-__builtin_inff());
  for (std::size_t pair = 0; pair < pairs.padded; pair += S::kLanes) {
    float *const scores = pairs.scores + pair;
    const Vec visible = S::load(pairs.visible_keys + pair);
    const Vec before = S::load(pairs.largest + pair);
    Vec largest = before;
    for (std::size_t key = 0; key < keys; ++key) {
      const Vec score = S::multiply(S::load(scores + key * pairs.padded), factor);
      const Vec seen = S::select_less(S::set(static_cast<float>(key)), visible, score, lowest);
      S::store(scores + key * pairs.padded, seen);
      largest = S::maximum(seen, largest);
    }
    S::store(pairs.largest + pair, largest);
    // Finite also while nothing has been seen, so that no difference of infinities arises.
    const Vec reference = S::maximum(S::set(-__FLT_MAX__), largest);
    const Vec shrink = weight_of<S>(S::subtract(before, reference));
    S::store(pairs.shrink + pair, shrink);
    Vec sum = S::multiply(S::load(pairs.sums + pair), shrink);
    for (std::size_t key = 0; key < keys; ++key) {
      float *const weight = scores + key * pairs.padded;
      const Vec power = weight_of<S>(S::subtract(S::load(weight), reference));
      S::store(weight, power);
      sum = S::add(sum, power);
    }
    S::store(pairs.sums + pair, sum);
  }
}

// Adds weight * value in the keys' order to V vectors of R pairs.
template <class S, std::size_t R, std::size_t V>
void latent_columns(const LatentPairs<S>& pairs, std::size_t pair, std::size_t column,
                    const LatentGroup& group) {
  using Vec = typename S::Vec;
  float *const contexts = pairs.contexts + pair * pairs.value_width + column;
  Vec columns[R][V];
#pragma GCC unroll 8
  for (std::size_t r = 0; r < R; ++r) {
    const Vec shrink = S::set(pairs.shrink[pair + r]);
#pragma GCC unroll 8
    for (std::size_t v = 0; v < V; ++v) {
      columns[r][v] =
          S::multiply(S::load(contexts + r * pairs.value_width + v * S::kLanes), shrink);
    }
  }
  const float *values = group.keys + column;
  const float *weights = pairs.scores + pair;
  for (std::size_t key = 0; key < group.count; ++key) {
    Vec value[V];
#pragma GCC unroll 8
    for (std::size_t v = 0; v < V; ++v) {
      value[v] = S::load(values + v * S::kLanes);
    }
#pragma GCC unroll 8
    for (std::size_t r = 0; r < R; ++r) {
      const Vec weight = S::set(weights[r]);
#pragma GCC unroll 8
      for (std::size_t v = 0; v < V; ++v) {
        columns[r][v] = S::fma(weight, value[v], columns[r][v]);
      }
    }
    values += group.stride;
    weights += pairs.padded;
  }
#pragma GCC unroll 8
  for (std::size_t r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (std::size_t v = 0; v < V; ++v) {
      S::store(contexts + r * pairs.value_width + v * S::kLanes, columns[r][v]);
    }
  }
}

template <class S, std::size_t R>
void latent_values(const LatentPairs<S>& pairs, std::size_t pair, std::size_t count,
                   const LatentGroup& group) {
  if (count == R) {
    constexpr std::size_t kWide = S::kValueVecs * S::kLanes;
    std::size_t column = 0;
    for (; column + kWide <= pairs.value_width; column += kWide) {
      latent_columns<S, R, S::kValueVecs>(pairs, pair, column, group);
    }
    for (; column < pairs.value_width; column += S::kLanes) {
      latent_columns<S, R, 1>(pairs, pair, column, group);
    }
  } else if constexpr (R > 1) {
    latent_values<S, R - 1>(pairs, pair, count, group);
  }
}

// Pairs [first, last), all of which see the whole group.
template <class S>
void add_values(const LatentPairs<S>& pairs, std::size_t first, std::size_t last,
                const LatentGroup& group) {
  for (std::size_t pair = first; pair < last; pair += S::kTileRows) {
    const std::size_t left = last - pair;
    latent_values<S, S::kTileRows>(pairs, pair, left < S::kTileRows ? left : S::kTileRows, group);
  }
}

}  // namespace zllm::kernel::cpu
