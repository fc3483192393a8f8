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

// The start that takes the offset of the codes out of the product of 32 columns.
template <PanelLayout kLayout>
inline __m512i start_of_block(const ActivationBlock& activation) {
  constexpr std::int32_t kOffset = kLayout.offset;
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
template <PanelLayout kLayout>
inline __m512i start_of_half(const ActivationBlock& activation, std::size_t half) {
  constexpr std::int32_t kOffset = kLayout.offset;
  const std::int32_t start = activation.half_starts_32[half];
  if constexpr (kOffset == 0) {
    return _mm512_set1_epi32(kFloatBaseBits);
  } else if constexpr (kOffset == 4) {
    return _mm512_set1_epi32(kFloatBaseBits + (start - kFloatBaseBits) / 8);
  } else {
    return _mm512_set1_epi32(start);
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

  // A product that began at kFloatBaseBits, times the scale of its columns. Exponent scales may be
  // so large that their product with the base overflows.
  __m512 scaled(__m512i product, std::size_t run) const {
    if constexpr (kLayout.scale == BlockScale::exponent) {
      const __m512i integer = _mm512_sub_epi32(product, _mm512_set1_epi32(kFloatBaseBits));
      return _mm512_mul_ps(_mm512_cvtepi32_ps(integer), scale[run]);
    } else {
      return _mm512_fmadd_ps(_mm512_castsi512_ps(product), scale[run], minus_base_scale[run]);
    }
  }

  __m512i codes[8];
  __m512 scale[kRuns];
  __m512 minus_base_scale[kRuns];
  __m512 minimum[kRuns];
};

// Adds the integer products of code vectors [first, first + kCount) with the activation rows. Rows
// and panels alternate so that neighbouring instructions do not wait for each other.
template <std::size_t kFirst, std::size_t kCount, PanelLayout kLayout, std::size_t kPanels,
          std::size_t kRows>
inline void dot(const ColumnBlock<kLayout> (&blocks)[kPanels], const ActivationBlock *activations,
                std::size_t stride, __m512i (&products)[kPanels][kRows]) {
  if constexpr (kRows == 1) {
    const std::int8_t *inputs = activations->codes + 4 * kFirst;
    for (std::size_t panel = 0; panel < kPanels; ++panel) {
      const __m512i *codes = blocks[panel].codes + kFirst;
      __m512i second = _mm512_setzero_si512();
      for (std::size_t g = 0; g < kCount; g += 2) {
        products[panel][0] =
            _mm512_dpbusd_epi32(products[panel][0], codes[g], broadcast4(inputs + 4 * g));
        second = _mm512_dpbusd_epi32(second, codes[g + 1], broadcast4(inputs + 4 * g + 4));
      }
      products[panel][0] = _mm512_add_epi32(products[panel][0], second);
    }
  } else {
    for (std::size_t g = kFirst; g < kFirst + kCount; ++g) {
      for (std::size_t row = 0; row < kRows; ++row) {
        const __m512i inputs = broadcast4(activations[row * stride].codes + 4 * g);
        for (std::size_t panel = 0; panel < kPanels; ++panel) {
          products[panel][row] =
              _mm512_dpbusd_epi32(products[panel][row], blocks[panel].codes[g], inputs);
        }
      }
    }
  }
}

// The scaled products of 32 columns.
template <PanelLayout kLayout, std::size_t kPanels, std::size_t kRows>
inline void scaled_products(const ColumnBlock<kLayout> (&blocks)[kPanels],
                            const ActivationBlock *activations, std::size_t stride,
                            __m512 (&scaled)[kPanels][kRows]) {
  constexpr std::size_t kRuns = ColumnBlock<kLayout>::kRuns;
  for (std::size_t run = 0; run < kRuns; ++run) {
    __m512i products[kPanels][kRows];
    for (std::size_t row = 0; row < kRows; ++row) {
      const __m512i start = kRuns == 1 ? start_of_block<kLayout>(activations[row * stride])
                                       : start_of_half<kLayout>(activations[row * stride], run);
      for (std::size_t panel = 0; panel < kPanels; ++panel) {
        products[panel][row] = start;
      }
    }
    if (run == 0) {
      dot<0, 8 / kRuns>(blocks, activations, stride, products);
    } else {
      dot<4, 4>(blocks, activations, stride, products);
    }
    for (std::size_t panel = 0; panel < kPanels; ++panel) {
      for (std::size_t row = 0; row < kRows; ++row) {
        const __m512 product = blocks[panel].scaled(products[panel][row], run);
        scaled[panel][row] = run == 0 ? product : _mm512_add_ps(scaled[panel][row], product);
      }
    }
  }
}

// sums += the blocks' products with 32 activations of each row, `stride` blocks apart. The one
// place that fixes the order of the operations on a sum; it is the same for any number of rows.
template <PanelLayout kLayout, std::size_t kPanels, std::size_t kRows>
inline void multiply_add(const ColumnBlock<kLayout> (&blocks)[kPanels],
                         const ActivationBlock *activations, std::size_t stride,
                         __m512 (&sums)[kPanels][kRows]) {
  __m512 scaled[kPanels][kRows];
  scaled_products(blocks, activations, stride, scaled);
  for (std::size_t row = 0; row < kRows; ++row) {
    const ActivationBlock& activation = activations[row * stride];
    for (std::size_t panel = 0; panel < kPanels; ++panel) {
      const ColumnBlock<kLayout>& block = blocks[panel];
      __m512 sum = sums[panel][row];
      sum = _mm512_fmadd_ps(scaled[panel][row], _mm512_set1_ps(activation.scale), sum);
      if constexpr (kLayout.has_minimum && ColumnBlock<kLayout>::kRuns == 1) {
        sum = _mm512_fmadd_ps(block.minimum[0], _mm512_set1_ps(activation.scaled_sum), sum);
      } else if constexpr (kLayout.has_minimum) {
        const float *half_sums = activation.scaled_half_sums;
        sum = _mm512_fmadd_ps(block.minimum[0], _mm512_set1_ps(half_sums[0]), sum);
        sum = _mm512_fmadd_ps(block.minimum[1], _mm512_set1_ps(half_sums[1]), sum);
      }
      sums[panel][row] = sum;
    }
  }
}

// Far enough ahead to cover the memory's latency, near enough to stay in L1.
constexpr std::size_t kPrefetchBytes = 2048;

// Activation rows for which a block of columns is unpacked once; their sums stay in L1.
constexpr std::size_t kTileRows = 32;

// Activation rows that stay in the second-level cache while the panels pass by.
constexpr std::size_t kCachedActivationBytes = 768 * 1024;

// Calls step(blocks, index) for the column blocks of consecutive panels in ascending order.
template <PanelLayout kLayout, std::size_t kPanels, bool kPrefetch, class Step>
inline void for_column_blocks(const PackedProduct& params, std::uint64_t panel, const Step& step) {
  static_assert(kPanels == 1 || kPanels == 2);
  constexpr std::size_t kSubBlocks = kLayout.block_columns / 32;
  constexpr std::size_t kSubBlockBytes = kLayout.block_bytes() / kSubBlocks;
  const std::size_t blocks = params.matrix.columns / kLayout.block_columns;
  const std::size_t panel_bytes = blocks * kLayout.block_bytes();
  const std::byte *place = params.matrix.panels + panel * panel_bytes;
  const std::byte *other = kPanels == 1 ? place : place + panel_bytes;
  for (std::size_t i = 0; i < blocks; ++i) {
    const Scales<kLayout> scales(place);
    const Scales<kLayout> other_scales(other);
    for (std::size_t s = 0; s < kSubBlocks; ++s) {
      if constexpr (kPrefetch) {
        const std::byte *ahead = place + kPrefetchBytes + s * kSubBlockBytes;
        for (std::size_t line = 0; line < kSubBlockBytes; line += 64) {
          _mm_prefetch(reinterpret_cast<const char *>(ahead + line), _MM_HINT_T0);
        }
      }
      const std::size_t codes = kLayout.codes_offset() + s * kLayout.codes_bytes();
      if constexpr (kPanels == 1) {
        const ColumnBlock<kLayout> columns[1] = {{scales, place + codes, s}};
        step(columns, i * kSubBlocks + s);
      } else {
        const ColumnBlock<kLayout> columns[2] = {{scales, place + codes, s},
                                                 {other_scales, other + codes, s}};
        step(columns, i * kSubBlocks + s);
      }
    }
    place += kLayout.block_bytes();
    other += kLayout.block_bytes();
  }
}

// Activation rows whose sums stay in registers while a panel streams from memory.
constexpr std::size_t kFewRows = 4;

template <PanelLayout kLayout, std::size_t kRows>
[[gnu::noinline]] void multiply_few(const PackedProduct& params, std::uint64_t panel) {
  const std::size_t stride = params.matrix.columns / 32;
  __m512 sums[1][kRows];
  for (__m512& sum : sums[0]) {
    sum = _mm512_setzero_ps();
  }
  for_column_blocks<kLayout, 1, true>(
      params, panel, [&](const ColumnBlock<kLayout>(&blocks)[1], std::size_t index) {
        multiply_add(blocks, params.activations + index, stride, sums);
      });
  const std::uint64_t first_output = panel * kPanelRows;
  for (std::size_t row = 0; row < kRows; ++row) {
    store(params.output, row, first_output, lanes(params.matrix.rows - first_output), sums[0][row]);
  }
}

template <PanelLayout kLayout, std::size_t kRows>
void multiply_panels(const PackedProduct& params) {
  for (std::uint64_t panel = params.first_panel; panel < params.end_panel; ++panel) {
    multiply_few<kLayout, kRows>(params, panel);
  }
}

// `kept` without bits starts the sums at zero, so that they need no pass of their own for it.
template <std::size_t kRows, PanelLayout kLayout, std::size_t kPanels>
inline void add_rows(const ColumnBlock<kLayout> (&blocks)[kPanels],
                     const ActivationBlock *activations, std::size_t stride, std::size_t first,
                     __mmask16 kept, __m512 (&sums)[kPanels][kTileRows]) {
  __m512 rows[kPanels][kRows];
  for (std::size_t panel = 0; panel < kPanels; ++panel) {
    for (std::size_t row = 0; row < kRows; ++row) {
      rows[panel][row] = _mm512_maskz_load_ps(kept, &sums[panel][first + row]);
    }
  }
  multiply_add(blocks, activations + first * stride, stride, rows);
  for (std::size_t panel = 0; panel < kPanels; ++panel) {
    for (std::size_t row = 0; row < kRows; ++row) {
      sums[panel][first + row] = rows[panel][row];
    }
  }
}

// Consecutive panels times at most kTileRows activation rows.
template <PanelLayout kLayout, std::size_t kPanels>
[[gnu::noinline]] void multiply_tile(const PackedProduct& params, std::uint64_t panel,
                                     std::size_t first_row, std::size_t rows) {
  constexpr std::size_t kStep = 8 / kPanels;  // products that fit in registers beside the codes
  const std::size_t stride = params.matrix.columns / 32;
  const ActivationBlock *activations = params.activations + first_row * stride;
  __m512 sums[kPanels][kTileRows];
  for_column_blocks<kLayout, kPanels, false>(
      params, panel, [&](const ColumnBlock<kLayout>(&blocks)[kPanels], std::size_t index) {
        const auto kept = static_cast<__mmask16>(index == 0 ? 0 : 0xFFFF);
        std::size_t row = 0;
        for (; row + kStep <= rows; row += kStep) {
          add_rows<kStep>(blocks, activations + index, stride, row, kept, sums);
        }
        for (; row < rows; ++row) {
          add_rows<1>(blocks, activations + index, stride, row, kept, sums);
        }
      });
  for (std::size_t i = 0; i < kPanels; ++i) {
    const std::uint64_t first_output = (panel + i) * kPanelRows;
    const __mmask16 mask = lanes(params.matrix.rows - first_output);
    for (std::size_t row = 0; row < rows; ++row) {
      store(params.output, first_row + row, first_output, mask, sums[i][row]);
    }
  }
}

template <PanelLayout kLayout>
void multiply_many(const PackedProduct& params, std::size_t first, std::size_t end) {
  for (std::uint64_t panel = params.first_panel; panel < params.end_panel; panel += 2) {
    for (std::size_t row = first; row < end; row += kTileRows) {
      const std::size_t rows = end - row < kTileRows ? end - row : kTileRows;
      if (panel + 2 <= params.end_panel) {
        multiply_tile<kLayout, 2>(params, panel, row, rows);
      } else {
        multiply_tile<kLayout, 1>(params, panel, row, rows);
      }
    }
  }
}

template <PanelLayout kLayout>
void multiply(const PackedProduct& params) {
  switch (params.activation_rows) {
    case 1:
      return multiply_panels<kLayout, 1>(params);
    case 2:
      return multiply_panels<kLayout, 2>(params);
    case 3:
      return multiply_panels<kLayout, 3>(params);
    case kFewRows:
      return multiply_panels<kLayout, kFewRows>(params);
    default:
      break;
  }
  const std::size_t row_bytes = params.matrix.columns / 32 * sizeof(ActivationBlock);
  const std::size_t fitting = kCachedActivationBytes / row_bytes / kTileRows * kTileRows;
  const std::size_t chunk = fitting < kTileRows ? kTileRows : fitting;
  for (std::size_t first = 0; first < params.activation_rows; first += chunk) {
    const std::size_t left = params.activation_rows - first;
    multiply_many<kLayout>(params, first, first + (left < chunk ? left : chunk));
  }
}

void multiply_packed(const PackedProduct& params) {
  visit_layout(params.matrix.encoding,
               [&params]<PanelLayout kLayout>() { multiply<kLayout>(params); });
}

}  // namespace
}  // namespace zllm::kernel::cpu::avx512
