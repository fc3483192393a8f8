#pragma once

#include <zllm/kernel/cpu/attention.h>
#include <zllm/kernel/cpu/exponential-inl.h>

// A tile: up to S::kTileRows query rows (of one kv head's group) against one page, so that a
// loaded vector of keys or values serves all of its rows. What a row gets is the same in any tile.
// Scores are in units of ln 2, so that weights are powers of two.
namespace zllm::kernel::cpu {

// Room behind arrays of one float a query row, which tiles read as whole vectors.
constexpr std::size_t kRowFloats = 16;

// Tokens [first, last) of a page that a row sees.
struct VisibleTokens {
  std::size_t first;
  std::size_t last;
};

// Softmax state of query rows within a split.
struct SoftmaxRows {
  float *values;   // [rows][stride]: sums of weight * value
  float *largest;  // [rows]: largest score so far, minus infinity before the first
  float *sums;     // [rows][kRowFloats]: sums of weights by lane
};

template <class S, class Element>
struct TilePage {
  const Element *keys;
  const Element *values;
  std::size_t head;
  std::size_t value_stride;
  const float *queries;  // [head][tile rows], scaled
  SoftmaxRows rows;
  float softcap;
  std::intptr_t ahead;           // bytes from these keys to those needed next
  const VisibleTokens *visible;  // per row of the tile; null: every row sees every token
};

constexpr std::size_t kCacheLine = 64;

// The next page lies anywhere: no hardware prefetcher follows. It is fetched line by line at the
// pace at which this one is used.
template <class S, class Element>
void prefetch_ahead(const Element *from, std::size_t vectors, std::intptr_t ahead) {
  const std::intptr_t next = reinterpret_cast<std::intptr_t>(from) + ahead;
  for (std::size_t byte = 0; byte < vectors * S::kLanes * sizeof(Element); byte += kCacheLine) {
    __builtin_prefetch(reinterpret_cast<const void *>(next + static_cast<std::intptr_t>(byte)));
  }
}

// Scores of R rows: sums over the head's lanes in ascending order.
template <class S, class Element, std::size_t R>
void score_tile(const TilePage<S, Element>& tile, float (*scores)[kPageTokens]) {
  using Vec = typename S::Vec;
  for (std::size_t token = 0; token < kPageTokens; token += 2 * S::kLanes) {
    Vec sums[R][2];
#pragma GCC unroll 8
    for (std::size_t r = 0; r < R; ++r) {
      sums[r][0] = S::zero();
      sums[r][1] = S::zero();
    }
    const Element *keys = tile.keys + token;
    const float *queries = tile.queries;
    for (std::size_t d = 0; d < tile.head; ++d, keys += kPageTokens, queries += R) {
      prefetch_ahead<S>(keys, 2, tile.ahead);
      const Vec low = S::load(keys);
      const Vec high = S::load(keys + S::kLanes);
#pragma GCC unroll 8
      for (std::size_t r = 0; r < R; ++r) {
        const Vec query = S::set(queries[r]);
        sums[r][0] = S::fma(query, low, sums[r][0]);
        sums[r][1] = S::fma(query, high, sums[r][1]);
      }
    }
#pragma GCC unroll 8
    for (std::size_t r = 0; r < R; ++r) {
      S::store(scores[r] + token, sums[r][0]);
      S::store(scores[r] + token + S::kLanes, sums[r][1]);
    }
  }
}

template <class S>
void cap_scores(float *scores, float softcap) {
  const typename S::Vec cap = S::set(softcap);
#pragma GCC unroll 8
  for (std::size_t token = 0; token < kPageTokens; token += S::kLanes) {
    const auto capped = hyperbolic_tangent<S>(S::divide(S::load(scores + token), cap));
    S::store(scores + token, S::multiply(S::set(softcap * kLog2E), capped));
  }
}

template <class S>
void mask_scores(float *scores, VisibleTokens visible) {
#pragma GCC unroll 8
  for (std::size_t token = 0; token < kPageTokens; token += S::kLanes) {
    const auto lane = [token](std::size_t at) {
      const std::size_t above = at > token ? at - token : 0;
      return above < S::kLanes ? above : S::kLanes;
    };
    S::store(scores + token, S::keep_lanes(S::load(scores + token), lane(visible.first),
                                           lane(visible.last), -__builtin_inff()));
  }
}

template <class S>
float largest_score(const float *scores) {
  auto largest = S::load(scores);
#pragma GCC unroll 8
  for (std::size_t token = S::kLanes; token < kPageTokens; token += S::kLanes) {
    largest = S::maximum(largest, S::load(scores + token));
  }
  return S::largest(largest);
}

// Turns scores into weights relative to the new largest score; shrink[r] is what older sums must
// be multiplied with. Rows that see nothing keep their state and get no weights.
template <class S, class Element, std::size_t R>
void weigh_tile(const TilePage<S, Element>& tile, float (*scores)[kPageTokens], float *shrink) {
  using Vec = typename S::Vec;
  float updated[kRowFloats] = {};
#pragma GCC unroll 8
  for (std::size_t r = 0; r < R; ++r) {
    if (tile.softcap != 0.0F) {
      cap_scores<S>(scores[r], tile.softcap);
    }
    if (tile.visible != nullptr) {
      mask_scores<S>(scores[r], tile.visible[r]);
    }
    const float largest = largest_score<S>(scores[r]);
    updated[r] = largest > tile.rows.largest[r] ? largest : tile.rows.largest[r];
  }
  const Vec change = S::subtract(S::load(tile.rows.largest), S::load(updated));
  S::store(shrink, power_of_two<S>(change));
#pragma GCC unroll 8
  for (std::size_t r = 0; r < R; ++r) {
    if (tile.visible != nullptr && tile.visible[r].first >= tile.visible[r].last) {
      continue;
    }
    tile.rows.largest[r] = updated[r];
    const Vec largest = S::set(updated[r]);
    Vec sum = S::zero();
#pragma GCC unroll 8
    for (std::size_t token = 0; token < kPageTokens; token += S::kLanes) {
      const Vec weight = power_of_two<S>(S::subtract(S::load(scores[r] + token), largest));
      S::store(scores[r] + token, weight);
      sum = S::add(sum, weight);
    }
    float *const sums = tile.rows.sums + r * kRowFloats;
    S::store(sums, S::fma(S::load(sums), S::set(shrink[r]), sum));
  }
}

// Adds weight * value in token order to V vectors of R rows.
template <class S, class Element, std::size_t R, std::size_t V>
void value_columns(const Element *values, std::size_t stride, std::intptr_t ahead,
                   VisibleTokens tokens, const float (*weights)[kPageTokens], const float *shrink,
                   float *sums) {
  using Vec = typename S::Vec;
  Vec columns[R][V];
#pragma GCC unroll 8
  for (std::size_t r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (std::size_t v = 0; v < V; ++v) {
      columns[r][v] = S::multiply(S::load(sums + r * stride + v * S::kLanes), S::set(shrink[r]));
    }
  }
  values += tokens.first * stride;
  for (std::size_t token = tokens.first; token < tokens.last; ++token, values += stride) {
    prefetch_ahead<S>(values, V, ahead);
    Vec value[V];
#pragma GCC unroll 8
    for (std::size_t v = 0; v < V; ++v) {
      value[v] = S::load(values + v * S::kLanes);
    }
#pragma GCC unroll 8
    for (std::size_t r = 0; r < R; ++r) {
      const Vec weight = S::set(weights[r][token]);
#pragma GCC unroll 8
      for (std::size_t v = 0; v < V; ++v) {
        columns[r][v] = S::fma(weight, value[v], columns[r][v]);
      }
    }
  }
#pragma GCC unroll 8
  for (std::size_t r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (std::size_t v = 0; v < V; ++v) {
      S::store(sums + r * stride + v * S::kLanes, columns[r][v]);
    }
  }
}

template <class S, class Element, std::size_t R>
void value_tile(const TilePage<S, Element>& tile, std::size_t first_row, VisibleTokens tokens,
                const float (*weights)[kPageTokens], const float *shrink) {
  constexpr std::size_t kWide = S::kValueVecs * S::kLanes;
  const std::size_t stride = tile.value_stride;
  float *const sums = tile.rows.values + first_row * stride;
  weights += first_row;
  shrink += first_row;
  std::size_t column = 0;
  for (; column + kWide <= stride; column += kWide) {
    value_columns<S, Element, R, S::kValueVecs>(tile.values + column, stride, tile.ahead, tokens,
                                                weights, shrink, sums + column);
  }
  for (; column < stride; column += S::kLanes) {
    value_columns<S, Element, R, 1>(tile.values + column, stride, tile.ahead, tokens, weights,
                                    shrink, sums + column);
  }
}

template <class S, class Element, std::size_t R>
void value_rows(const TilePage<S, Element>& tile, std::size_t first_row, std::size_t rows,
                const float (*weights)[kPageTokens], const float *shrink) {
  if (rows == R) {
    value_tile<S, Element, R>(tile, first_row, tile.visible[first_row], weights, shrink);
  } else if constexpr (R > 1) {
    value_rows<S, Element, R - 1>(tile, first_row, rows, weights, shrink);
  }
}

// Tokens that a row does not see are never multiplied, not even by zero: their memory may hold
// anything.
template <class S, class Element, std::size_t R>
void value_edge(const TilePage<S, Element>& tile, const float (*weights)[kPageTokens],
                const float *shrink) {
  const VisibleTokens *const visible = tile.visible;
  std::size_t next = 0;
  for (std::size_t row = 0; row < R; row = next) {
    next = row + 1;
    while (next < R && visible[next].first == visible[row].first &&
           visible[next].last == visible[row].last) {
      ++next;
    }
    if (visible[row].first < visible[row].last) {
      value_rows<S, Element, R>(tile, row, next - row, weights, shrink);
    }
  }
}

template <class S, class Element, std::size_t R>
void tile_page(const TilePage<S, Element>& tile, std::size_t rows) {
  if (rows == R) {
    float scores[R][kPageTokens];
    float shrink[kRowFloats];
    score_tile<S, Element, R>(tile, scores);
    weigh_tile<S, Element, R>(tile, scores, shrink);
    if (tile.visible == nullptr) {
      value_tile<S, Element, R>(tile, 0, {.first = 0, .last = kPageTokens}, scores, shrink);
    } else {
      value_edge<S, Element, R>(tile, scores, shrink);
    }
  } else if constexpr (R > 1) {
    tile_page<S, Element, R - 1>(tile, rows);
  }
}

}  // namespace zllm::kernel::cpu
