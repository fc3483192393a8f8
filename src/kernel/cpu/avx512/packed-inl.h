#pragma once

#include <immintrin.h>

#include <zllm/kernel/cpu/avx512/output-inl.h>
#include <zllm/kernel/cpu/avx512/unpack-inl.h>
#include <zllm/kernel/cpu/linear.h>

namespace zllm::kernel::cpu::avx512 {
namespace {

inline __m512i broadcast4(const std::int8_t *codes) {
  int word;
  __builtin_memcpy(&word, codes, sizeof(word));
  return _mm512_set1_epi32(word);
}

// Adds the integer products of kCount code vectors with kRows activation rows. The rows alternate
// so that neighbouring instructions do not wait for each other.
template <std::size_t kCount, std::size_t kRows>
inline void dot(const __m512i *codes, const std::int8_t *activations, std::size_t row_bytes,
                __m512i (&products)[kRows]) {
  if constexpr (kRows == 1) {
    __m512i second = _mm512_setzero_si512();
    for (std::size_t g = 0; g < kCount; g += 2) {
      products[0] = _mm512_dpbusd_epi32(products[0], codes[g], broadcast4(activations + 4 * g));
      second = _mm512_dpbusd_epi32(second, codes[g + 1], broadcast4(activations + 4 * g + 4));
    }
    products[0] = _mm512_add_epi32(products[0], second);
  } else {
    for (std::size_t g = 0; g < kCount; ++g) {
      for (std::size_t row = 0; row < kRows; ++row) {
        products[row] = _mm512_dpbusd_epi32(products[row], codes[g],
                                            broadcast4(activations + row * row_bytes + 4 * g));
      }
    }
  }
}

// The start that takes the offset of the codes out of the product of 32 columns.
template <std::int32_t kOffset>
inline __m512i start_of_block(const ActivationBlock& activation) {
  static_assert(kOffset == 0 || kOffset == 8 || kOffset == 16 || kOffset == 128);
  if constexpr (kOffset == 0) {
    return _mm512_set1_epi32(kFloatBaseBits);
  } else if constexpr (kOffset == 8) {
    return _mm512_set1_epi32(activation.start_8);
  } else if constexpr (kOffset == 16) {
    return _mm512_set1_epi32(activation.start_8 + (activation.start_8 - kFloatBaseBits));
  } else {
    return _mm512_set1_epi32(activation.start_128);
  }
}

// The same for half a block.
template <std::int32_t kOffset>
inline __m512i start_of_half(const ActivationBlock& activation, std::size_t half) {
  static_assert(kOffset == 0 || kOffset == 4 || kOffset == 32);
  const std::int32_t start = activation.half_starts_32[half];
  if constexpr (kOffset == 0) {
    return _mm512_set1_epi32(kFloatBaseBits);
  } else if constexpr (kOffset == 4) {
    return _mm512_set1_epi32(kFloatBaseBits + (start - kFloatBaseBits) / 8);
  } else {
    return _mm512_set1_epi32(start);
  }
}

// A product that began at kFloatBaseBits, times a scale. Exponent scales may be so large that
// their product with the base overflows.
template <BlockScale kScale>
inline __m512 scaled_product(__m512i product, __m512 scale, __m512 minus_base_scale) {
  if constexpr (kScale == BlockScale::exponent) {
    const __m512i integer = _mm512_sub_epi32(product, _mm512_set1_epi32(kFloatBaseBits));
    return _mm512_mul_ps(_mm512_cvtepi32_ps(integer), scale);
  } else {
    return _mm512_fmadd_ps(_mm512_castsi512_ps(product), scale, minus_base_scale);
  }
}

// The codes and scales of 32 columns, in registers while the activation rows pass by.
template <PanelLayout kLayout>
struct ColumnBlock {
  static constexpr std::size_t kRuns = 32 / kLayout.columns_per_scale;

  ColumnBlock(const Scales<kLayout>& scales, const std::byte *place, std::size_t sub_block) {
    unpack_codes<kLayout>(place, codes);
    for (std::size_t run = 0; run < kRuns; ++run) {
      scale[run] = scales.run_scale(sub_block * kRuns + run);
      minus_base_scale[run] = _mm512_mul_ps(scale[run], _mm512_set1_ps(-kFloatBase));
      if constexpr (kLayout.has_minimum) {
        minimum[run] = scales.run_minimum(sub_block * kRuns + run);
      }
    }
  }

  // sums += this block times 32 activations of each row, `stride` blocks apart. The one place that
  // fixes the order of the operations on a sum; it is the same for any number of rows.
  template <std::size_t kRows>
  void multiply_add(const ActivationBlock *activation, std::size_t stride,
                    __m512 (&sums)[kRows]) const {
    const std::size_t row_bytes = stride * sizeof(ActivationBlock);
    const std::int8_t *inputs = activation->codes;
    __m512i products[kRows];
    __m512 scaled[kRows];
    if constexpr (kRuns == 1) {
      for (std::size_t row = 0; row < kRows; ++row) {
        products[row] = start_of_block<kLayout.offset>(activation[row * stride]);
      }
      dot<8>(codes, inputs, row_bytes, products);
      for (std::size_t row = 0; row < kRows; ++row) {
        scaled[row] = scaled_product<kLayout.scale>(products[row], scale[0], minus_base_scale[0]);
      }
    } else {
      for (std::size_t row = 0; row < kRows; ++row) {
        products[row] = start_of_half<kLayout.offset>(activation[row * stride], 0);
      }
      dot<4>(codes, inputs, row_bytes, products);
      for (std::size_t row = 0; row < kRows; ++row) {
        scaled[row] = scaled_product<kLayout.scale>(products[row], scale[0], minus_base_scale[0]);
        products[row] = start_of_half<kLayout.offset>(activation[row * stride], 1);
      }
      dot<4>(codes + 4, inputs + 16, row_bytes, products);
      for (std::size_t row = 0; row < kRows; ++row) {
        scaled[row] = _mm512_add_ps(scaled[row], scaled_product<kLayout.scale>(
                                                     products[row], scale[1], minus_base_scale[1]));
      }
    }
    for (std::size_t row = 0; row < kRows; ++row) {
      const ActivationBlock& block = activation[row * stride];
      sums[row] = _mm512_fmadd_ps(scaled[row], _mm512_set1_ps(block.scale), sums[row]);
      if constexpr (kLayout.has_minimum && kRuns == 1) {
        sums[row] = _mm512_fmadd_ps(minimum[0], _mm512_set1_ps(block.scaled_sum), sums[row]);
      } else if constexpr (kLayout.has_minimum) {
        sums[row] =
            _mm512_fmadd_ps(minimum[0], _mm512_set1_ps(block.scaled_half_sums[0]), sums[row]);
        sums[row] =
            _mm512_fmadd_ps(minimum[1], _mm512_set1_ps(block.scaled_half_sums[1]), sums[row]);
      }
    }
  }

  __m512i codes[8];
  __m512 scale[kRuns];
  __m512 minus_base_scale[kRuns];
  __m512 minimum[kRuns];
};

// Far enough ahead to cover the memory's latency, near enough to stay in L1.
constexpr std::size_t kPrefetchBytes = 2048;

// Activation rows for which a block of columns is unpacked once; their sums stay in L1.
constexpr std::size_t kTileRows = 32;

// Activation rows that stay in the second-level cache while the panels pass by.
constexpr std::size_t kCachedActivationBytes = 768 * 1024;

// Calls step(block, index) for the column blocks of a panel in ascending order.
template <PanelLayout kLayout, bool kPrefetch, class Step>
inline void for_column_blocks(const PackedProduct& params, std::uint64_t panel, const Step& step) {
  constexpr std::size_t kSubBlocks = kLayout.block_columns / 32;
  constexpr std::size_t kSubBlockBytes = kLayout.block_bytes() / kSubBlocks;
  const std::size_t blocks = params.matrix.columns / kLayout.block_columns;
  const std::byte *place = params.matrix.panels + panel * blocks * kLayout.block_bytes();
  for (std::size_t i = 0; i < blocks; ++i) {
    const Scales<kLayout> scales(place);
    for (std::size_t s = 0; s < kSubBlocks; ++s) {
      if constexpr (kPrefetch) {
        const std::byte *ahead = place + kPrefetchBytes + s * kSubBlockBytes;
        for (std::size_t line = 0; line < kSubBlockBytes; line += 64) {
          _mm_prefetch(reinterpret_cast<const char *>(ahead + line), _MM_HINT_T0);
        }
      }
      const std::byte *codes = place + kLayout.codes_offset() + s * kLayout.codes_bytes();
      step(ColumnBlock<kLayout>(scales, codes, s), i * kSubBlocks + s);
    }
    place += kLayout.block_bytes();
  }
}

template <PanelLayout kLayout>
[[gnu::noinline]] void multiply_one(const PackedProduct& params, std::uint64_t panel) {
  __m512 sums[1] = {_mm512_setzero_ps()};
  for_column_blocks<kLayout, true>(params, panel,
                                   [&](const ColumnBlock<kLayout>& block, std::size_t index) {
                                     block.multiply_add(params.activations + index, 0, sums);
                                   });
  const std::uint64_t first_output = panel * kPanelRows;
  store(params.output, 0, first_output, lanes(params.matrix.rows - first_output), sums[0]);
}

template <std::size_t kRows, PanelLayout kLayout>
inline void add_rows(const ColumnBlock<kLayout>& block, const ActivationBlock *activations,
                     std::size_t stride, __m512 *sums) {
  __m512 rows[kRows];
  for (std::size_t row = 0; row < kRows; ++row) {
    rows[row] = sums[row];
  }
  block.multiply_add(activations, stride, rows);
  for (std::size_t row = 0; row < kRows; ++row) {
    sums[row] = rows[row];
  }
}

// One panel times at most kTileRows activation rows.
template <PanelLayout kLayout>
[[gnu::noinline]] void multiply_tile(const PackedProduct& params, std::uint64_t panel,
                                     std::size_t first_row, std::size_t rows) {
  const std::size_t stride = params.matrix.columns / 32;
  const ActivationBlock *activations = params.activations + first_row * stride;
  __m512 sums[kTileRows];
  for (std::size_t row = 0; row < rows; ++row) {
    sums[row] = _mm512_setzero_ps();
  }
  for_column_blocks<kLayout, false>(
      params, panel, [&](const ColumnBlock<kLayout>& block, std::size_t index) {
        const ActivationBlock *column = activations + index;
        std::size_t row = 0;
        for (; row + 8 <= rows; row += 8) {
          add_rows<8>(block, column + row * stride, stride, sums + row);
        }
        if (rows - row >= 4) {
          add_rows<4>(block, column + row * stride, stride, sums + row);
          row += 4;
        }
        for (; row < rows; ++row) {
          add_rows<1>(block, column + row * stride, stride, sums + row);
        }
      });
  const std::uint64_t first_output = panel * kPanelRows;
  const __mmask16 mask = lanes(params.matrix.rows - first_output);
  for (std::size_t row = 0; row < rows; ++row) {
    store(params.output, first_row + row, first_output, mask, sums[row]);
  }
}

template <PanelLayout kLayout>
void multiply(const PackedProduct& params) {
  if (params.activation_rows == 1) {
    for (std::uint64_t panel = params.first_panel; panel < params.end_panel; ++panel) {
      multiply_one<kLayout>(params, panel);
    }
    return;
  }
  const std::size_t row_bytes = params.matrix.columns / 32 * sizeof(ActivationBlock);
  const std::size_t fitting = kCachedActivationBytes / row_bytes / kTileRows * kTileRows;
  const std::size_t chunk = fitting < kTileRows ? kTileRows : fitting;
  for (std::size_t first = 0; first < params.activation_rows; first += chunk) {
    const std::size_t left = params.activation_rows - first;
    const std::size_t end = first + (left < chunk ? left : chunk);
    for (std::uint64_t panel = params.first_panel; panel < params.end_panel; ++panel) {
      for (std::size_t row = first; row < end; row += kTileRows) {
        const std::size_t rows = end - row < kTileRows ? end - row : kTileRows;
        multiply_tile<kLayout>(params, panel, row, rows);
      }
    }
  }
}

void multiply_packed(const PackedProduct& params) {
  visit_layout(params.matrix.encoding,
               [&params]<PanelLayout kLayout>() { multiply<kLayout>(params); });
}

}  // namespace
}  // namespace zllm::kernel::cpu::avx512
