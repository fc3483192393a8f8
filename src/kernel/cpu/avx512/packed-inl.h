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

// The integer product of kCount code vectors, on top of `start`.
template <std::size_t kCount>
inline __m512i dot(__m512i start, const __m512i *codes, const std::int8_t *activations) {
  for (std::size_t g = 0; g < kCount; ++g) {
    start = _mm512_dpbusd_epi32(start, codes[g], broadcast4(activations + 4 * g));
  }
  return start;
}

// The start that takes the offset of the codes out of the product of 32 columns.
template <std::int32_t kOffset>
inline __m512i start_of_block(const ActivationBlock& activation) {
  static_assert(kOffset == 0 || kOffset == 8 || kOffset == 16 || kOffset == 128);
  if constexpr (kOffset == 0) {
    return _mm512_setzero_si512();
  } else if constexpr (kOffset == 128) {
    return _mm512_set1_epi32(activation.minus_128_sum);
  } else {
    return _mm512_set1_epi32(activation.minus_8_sum * (kOffset / 8));
  }
}

// The same for half a block.
template <std::int32_t kOffset>
inline __m512i start_of_half(const ActivationBlock& activation, std::size_t half) {
  static_assert(kOffset == 0 || kOffset == 4 || kOffset == 32);
  if constexpr (kOffset == 0) {
    return _mm512_setzero_si512();
  } else {
    return _mm512_set1_epi32(activation.minus_32_half_sums[half] / (32 / kOffset));
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
      if constexpr (kLayout.has_minimum) {
        minimum[run] = scales.run_minimum(sub_block * kRuns + run);
      }
    }
  }

  // sum + this block times 32 activations. The one place that fixes the order of operations.
  __m512 multiply_add(const ActivationBlock& activation, __m512 sum) const {
    const __m512 activation_scale = _mm512_set1_ps(activation.scale);
    if constexpr (kRuns == 1) {
      const __m512i product =
          dot<8>(start_of_block<kLayout.offset>(activation), codes, activation.codes);
      const __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(product), scale[0]);
      sum = _mm512_fmadd_ps(scaled, activation_scale, sum);
      if constexpr (kLayout.has_minimum) {
        sum = _mm512_fmadd_ps(minimum[0], _mm512_set1_ps(activation.scaled_sum), sum);
      }
    } else {
      const __m512i first =
          dot<4>(start_of_half<kLayout.offset>(activation, 0), codes, activation.codes);
      const __m512i second =
          dot<4>(start_of_half<kLayout.offset>(activation, 1), codes + 4, activation.codes + 16);
      __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(first), scale[0]);
      scaled = _mm512_fmadd_ps(_mm512_cvtepi32_ps(second), scale[1], scaled);
      sum = _mm512_fmadd_ps(scaled, activation_scale, sum);
      if constexpr (kLayout.has_minimum) {
        sum = _mm512_fmadd_ps(minimum[0], _mm512_set1_ps(activation.scaled_half_sums[0]), sum);
        sum = _mm512_fmadd_ps(minimum[1], _mm512_set1_ps(activation.scaled_half_sums[1]), sum);
      }
    }
    return sum;
  }

  __m512i codes[8];
  __m512 scale[kRuns];
  __m512 minimum[kRuns];
};

// Far enough ahead to cover the memory's latency, near enough to stay in L1.
constexpr std::size_t kPrefetchBytes = 2048;

// One panel times kRows activation rows.
template <PanelLayout kLayout, std::size_t kRows>
inline void multiply_tile(const std::byte *panel, std::size_t column_blocks,
                          const ActivationBlock *activations, __m512 (&sums)[kRows]) {
  constexpr std::size_t kSubBlocks = kLayout.block_columns / 32;
  for (std::size_t row = 0; row < kRows; ++row) {
    sums[row] = _mm512_setzero_ps();
  }
  const ActivationBlock *activation = activations;
  for (std::size_t i = 0; i < column_blocks; i += kSubBlocks) {
    if constexpr (kRows == 1) {
      for (std::size_t line = 0; line < kLayout.block_bytes(); line += 64) {
        _mm_prefetch(reinterpret_cast<const char *>(panel + kPrefetchBytes + line), _MM_HINT_T0);
      }
    }
    const Scales<kLayout> scales(panel);
    for (std::size_t s = 0; s < kSubBlocks; ++s) {
      const ColumnBlock<kLayout> block(
          scales, panel + kLayout.codes_offset() + s * kLayout.codes_bytes(), s);
      for (std::size_t row = 0; row < kRows; ++row) {
        sums[row] = block.multiply_add(activation[row * column_blocks], sums[row]);
      }
      ++activation;
    }
    panel += kLayout.block_bytes();
  }
}

template <PanelLayout kLayout, std::size_t kRows>
[[gnu::noinline]] void multiply_rows(const PackedProduct& params, std::uint64_t panel,
                                     std::size_t first_row) {
  const std::size_t column_blocks = params.matrix.columns / 32;
  const std::size_t panel_bytes =
      params.matrix.columns / kLayout.block_columns * kLayout.block_bytes();
  __m512 sums[kRows];
  multiply_tile<kLayout, kRows>(params.matrix.panels + panel * panel_bytes, column_blocks,
                                params.activations + first_row * column_blocks, sums);
  const std::uint64_t first_output = panel * kPanelRows;
  const __mmask16 mask = lanes(params.matrix.rows - first_output);
  for (std::size_t row = 0; row < kRows; ++row) {
    store(params.output, first_row + row, first_output, mask, sums[row]);
  }
}

// Activation rows that stay in the second-level cache while the panels pass by.
constexpr std::size_t kCachedActivationBytes = 768 * 1024;

template <PanelLayout kLayout>
void multiply(const PackedProduct& params) {
  constexpr std::size_t kTile = 8;
  const std::size_t row_bytes = params.matrix.columns / 32 * sizeof(ActivationBlock);
  const std::size_t fitting = kCachedActivationBytes / row_bytes / kTile * kTile;
  const std::size_t chunk = fitting < kTile ? kTile : fitting;
  for (std::size_t first = 0; first < params.activation_rows; first += chunk) {
    const std::size_t left = params.activation_rows - first;
    const std::size_t end = first + (left < chunk ? left : chunk);
    for (std::uint64_t panel = params.first_panel; panel < params.end_panel; ++panel) {
      std::size_t row = first;
      for (; row + kTile <= end; row += kTile) {
        multiply_rows<kLayout, kTile>(params, panel, row);
      }
      if (end - row >= 4) {
        multiply_rows<kLayout, 4>(params, panel, row);
        row += 4;
      }
      if (end - row >= 2) {
        multiply_rows<kLayout, 2>(params, panel, row);
        row += 2;
      }
      if (end - row >= 1) {
        multiply_rows<kLayout, 1>(params, panel, row);
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
