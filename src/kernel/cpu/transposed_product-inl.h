#pragma once

#include <zllm/kernel/cpu/bfloat16.h>
#include <zllm/kernel/cpu/latent.h>

namespace zllm::kernel::cpu {

// `lanes` vectors' worth of a matrix row's columns and some of its rows.
struct TransposedTile {
  std::size_t first_row;  // of activations
  std::size_t column;
  std::size_t lanes;  // of the last vector, above 0
  std::size_t first;  // matrix rows
  std::size_t last;
  bool fresh;  // sums start at zero
};

template <class S, class Element>
typename S::Vec load_lanes(const Element *from, std::size_t count) {
  if (count == S::kLanes) {
    return S::load(from);
  }
  Element lanes[S::kLanes] = {};
  __builtin_memcpy(lanes, from, count * sizeof(Element));
  return S::load(lanes);
}

template <class S, class Element, std::size_t R, std::size_t V>
void transposed_tile(const TransposedProduct& params, const TransposedTile& tile) {
  using Vec = typename S::Vec;
  const std::size_t columns = params.columns;
  const Element *weights =
      reinterpret_cast<const Element *>(params.weights) + tile.first * columns + tile.column;
  const float *const inputs = params.activations + tile.first_row * params.activation_stride;
  float *const output = params.output + tile.first_row * params.output_stride + tile.column;
  Vec sums[R][V];
#pragma GCC unroll 8
  for (std::size_t r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (std::size_t v = 0; v < V; ++v) {
      const std::size_t lanes = v + 1 < V ? S::kLanes : tile.lanes;
      sums[r][v] = tile.fresh
                       ? S::zero()
                       : S::load_first(output + r * params.output_stride + v * S::kLanes, lanes);
    }
  }
  for (std::size_t n = tile.first; n < tile.last; ++n, weights += columns) {
    Vec weight[V];
#pragma GCC unroll 8
    for (std::size_t v = 0; v < V; ++v) {
      weight[v] = v + 1 < V ? S::load(weights + v * S::kLanes)
                            : load_lanes<S>(weights + v * S::kLanes, tile.lanes);
    }
#pragma GCC unroll 8
    for (std::size_t r = 0; r < R; ++r) {
      const Vec input = S::set(inputs[r * params.activation_stride + n]);
#pragma GCC unroll 8
      for (std::size_t v = 0; v < V; ++v) {
        sums[r][v] = S::fma(input, weight[v], sums[r][v]);
      }
    }
  }
#pragma GCC unroll 8
  for (std::size_t r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (std::size_t v = 0; v < V; ++v) {
      const std::size_t lanes = v + 1 < V ? S::kLanes : tile.lanes;
      S::store_first(output + r * params.output_stride + v * S::kLanes, sums[r][v], lanes);
    }
  }
}

template <class S, class Element, std::size_t R>
void transposed_rows(const TransposedProduct& params, TransposedTile tile, std::size_t rows) {
  if (rows == R) {
    constexpr std::size_t kWide = S::kValueVecs * S::kLanes;
    tile.lanes = S::kLanes;
    for (tile.column = 0; tile.column + kWide <= params.columns; tile.column += kWide) {
      transposed_tile<S, Element, R, S::kValueVecs>(params, tile);
    }
    for (; tile.column < params.columns; tile.column += S::kLanes) {
      const std::size_t left = params.columns - tile.column;
      tile.lanes = left < S::kLanes ? left : S::kLanes;
      transposed_tile<S, Element, R, 1>(params, tile);
    }
  } else if constexpr (R > 1) {
    transposed_rows<S, Element, R - 1>(params, tile, rows);
  }
}

// Few activation rows read the matrix once, so they take it a few whole rows at a time, in the
// order of memory; many find it in a cache and keep their sums in registers.
constexpr std::size_t kStreamedRows = 8;

template <class S, class Element>
void transposed_product(const TransposedProduct& params) {
  const std::size_t step =
      params.activation_rows < S::kTileRows ? kStreamedRows : params.matrix_rows;
  for (std::size_t first = 0; first < params.matrix_rows; first += step) {
    const std::size_t left = params.matrix_rows - first;
    TransposedTile tile = {.first_row = 0,
                           .column = 0,
                           .lanes = S::kLanes,
                           .first = first,
                           .last = first + (left < step ? left : step),
                           .fresh = first == 0 && !params.accumulate};
    for (std::size_t row = 0; row < params.activation_rows; row += S::kTileRows) {
      const std::size_t rows = params.activation_rows - row;
      tile.first_row = row;
      transposed_rows<S, Element, S::kTileRows>(params, tile,
                                                rows < S::kTileRows ? rows : S::kTileRows);
    }
  }
}

template <class S>
void multiply_transposed(const TransposedProduct& params) {
  switch (params.encoding) {
    case encoding::Encoding::f32:
      return transposed_product<S, float>(params);
    case encoding::Encoding::f16:
      return transposed_product<S, std::uint16_t>(params);
    case encoding::Encoding::bf16:
      return transposed_product<S, BFloat16>(params);
    default:
      return;
  }
}

}  // namespace zllm::kernel::cpu
