#pragma once

#include <immintrin.h>

#include <zllm/kernel/cpu/avx2/output-inl.h>
#include <zllm/kernel/cpu/avx2/unpack-inl.h>
#include <zllm/kernel/cpu/linear.h>

namespace zllm::kernel::cpu::avx2 {
namespace {

inline __m256i broadcast4(const std::int8_t *codes) {
  int word;
  __builtin_memcpy(&word, codes, sizeof(word));
  return _mm256_set1_epi32(word);
}

inline __m256i add_pairs(__m256i sum, __m256i pairs) {
  return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

// Products of byte pairs that may be added in 16 bits: 2 * 127 * largest code each.
template <PanelLayout kLayout>
constexpr std::size_t pairs_in_16_bits() {
  const std::uint32_t bits =
      kLayout.table == CodeTable::mxfp4 ? 5 : kLayout.low_bits + kLayout.high_bits;
  return bits <= 4 ? 8 : bits == 5 ? 4 : 2;
}

// The integer product of kCount code vectors, on top of `start`.
template <PanelLayout kLayout, std::size_t kCount>
inline __m256i dot(__m256i start, const __m256i *codes, const std::int8_t *activations) {
  if constexpr (kSignedCodes<kLayout>) {
    for (std::size_t g = 0; g < kCount; ++g) {
      const __m256i inputs = _mm256_sign_epi8(broadcast4(activations + 4 * g), codes[g]);
      start = add_pairs(start, _mm256_maddubs_epi16(_mm256_abs_epi8(codes[g]), inputs));
    }
  } else {
    constexpr std::size_t kLimit = pairs_in_16_bits<kLayout>();
    constexpr std::size_t kStep = kLimit < kCount ? kLimit : kCount;
    for (std::size_t g = 0; g < kCount; g += kStep) {
      __m256i pairs = _mm256_maddubs_epi16(codes[g], broadcast4(activations + 4 * g));
      for (std::size_t i = g + 1; i < g + kStep; ++i) {
        pairs = _mm256_add_epi16(pairs,
                                 _mm256_maddubs_epi16(codes[i], broadcast4(activations + 4 * i)));
      }
      start = add_pairs(start, pairs);
    }
  }
  return start;
}

// The start that takes the offset of the codes out of the product of 32 columns.
template <PanelLayout kLayout>
inline __m256i start_of_block(const ActivationBlock& activation) {
  if constexpr (kLayout.offset == 0 || kSignedCodes<kLayout>) {
    return _mm256_set1_epi32(kFloatBaseBits);
  } else {
    static_assert(kLayout.offset % 8 == 0);
    const std::int32_t correction = activation.start_8 - kFloatBaseBits;
    return _mm256_set1_epi32(kFloatBaseBits + correction * (kLayout.offset / 8));
  }
}

// The same for half a block.
template <PanelLayout kLayout>
inline __m256i start_of_half(const ActivationBlock& activation, std::size_t half) {
  if constexpr (kLayout.offset == 0) {
    return _mm256_set1_epi32(kFloatBaseBits);
  } else {
    static_assert(32 % kLayout.offset == 0);
    const std::int32_t correction = activation.half_starts_32[half] - kFloatBaseBits;
    return _mm256_set1_epi32(kFloatBaseBits + correction / (32 / kLayout.offset));
  }
}

// A product that began at kFloatBaseBits, times a scale. Exponent scales may be so large that
// their product with the base overflows.
template <BlockScale kScale>
inline __m256 scaled_product(__m256i product, __m256 scale, __m256 minus_base_scale) {
  if constexpr (kScale == BlockScale::exponent) {
    const __m256i integer = _mm256_sub_epi32(product, _mm256_set1_epi32(kFloatBaseBits));
    return _mm256_mul_ps(_mm256_cvtepi32_ps(integer), scale);
  } else {
    return _mm256_fmadd_ps(_mm256_castsi256_ps(product), scale, minus_base_scale);
  }
}

// The codes and scales of 32 columns of eight rows while the activation rows pass by.
template <PanelLayout kLayout>
struct ColumnBlock {
  static constexpr std::size_t kRuns = 32 / kLayout.columns_per_scale;

  ColumnBlock(const Scales<kLayout>& scales, const std::byte *place, std::size_t sub_block) {
    unpack_codes<kLayout>(place, codes);
    for (std::size_t run = 0; run < kRuns; ++run) {
      scale[run] = scales.run_scale(sub_block * kRuns + run);
      minus_base_scale[run] = _mm256_mul_ps(scale[run], _mm256_set1_ps(-kFloatBase));
      if constexpr (kLayout.has_minimum) {
        minimum[run] = scales.run_minimum(sub_block * kRuns + run);
      }
    }
  }

  // sum + this block times 32 activations. The one place that fixes the order of operations.
  __m256 multiply_add(const ActivationBlock& activation, __m256 sum) const {
    const __m256 activation_scale = _mm256_set1_ps(activation.scale);
    if constexpr (kRuns == 1) {
      const __m256i product =
          dot<kLayout, 8>(start_of_block<kLayout>(activation), codes, activation.codes);
      const __m256 scaled = scaled_product<kLayout.scale>(product, scale[0], minus_base_scale[0]);
      sum = _mm256_fmadd_ps(scaled, activation_scale, sum);
      if constexpr (kLayout.has_minimum) {
        sum = _mm256_fmadd_ps(minimum[0], _mm256_set1_ps(activation.scaled_sum), sum);
      }
    } else {
      const __m256i first =
          dot<kLayout, 4>(start_of_half<kLayout>(activation, 0), codes, activation.codes);
      const __m256i second =
          dot<kLayout, 4>(start_of_half<kLayout>(activation, 1), codes + 4, activation.codes + 16);
      __m256 scaled = scaled_product<kLayout.scale>(first, scale[0], minus_base_scale[0]);
      scaled = _mm256_add_ps(scaled,
                             scaled_product<kLayout.scale>(second, scale[1], minus_base_scale[1]));
      sum = _mm256_fmadd_ps(scaled, activation_scale, sum);
      if constexpr (kLayout.has_minimum) {
        sum = _mm256_fmadd_ps(minimum[0], _mm256_set1_ps(activation.scaled_half_sums[0]), sum);
        sum = _mm256_fmadd_ps(minimum[1], _mm256_set1_ps(activation.scaled_half_sums[1]), sum);
      }
    }
    return sum;
  }

  __m256i codes[8];
  __m256 scale[kRuns];
  __m256 minus_base_scale[kRuns];
  __m256 minimum[kRuns];
};

template <PanelLayout kLayout, std::size_t kRows>
[[gnu::noinline]] void multiply_rows(const PackedProduct& params, std::uint64_t panel,
                                     std::size_t first_row) {
  constexpr std::size_t kSubBlocks = kLayout.block_columns / 32;
  const std::size_t column_blocks = params.matrix.columns / 32;
  const std::byte *block =
      params.matrix.panels + panel * (column_blocks / kSubBlocks) * kLayout.block_bytes();
  const ActivationBlock *activation = params.activations + first_row * column_blocks;
  __m256 sums[2][kRows];
  for (std::size_t row = 0; row < kRows; ++row) {
    sums[0][row] = _mm256_setzero_ps();
    sums[1][row] = _mm256_setzero_ps();
  }
  for (std::size_t i = 0; i < column_blocks; i += kSubBlocks) {
    const Scales<kLayout> scales[2] = {{block, 0}, {block, kHalfRows}};
    for (std::size_t s = 0; s < kSubBlocks; ++s) {
      const std::byte *codes = block + kLayout.codes_offset() + s * kLayout.codes_bytes();
      for (std::size_t half = 0; half < 2; ++half) {
        const ColumnBlock<kLayout> columns(scales[half], codes + half * 32, s);
        for (std::size_t row = 0; row < kRows; ++row) {
          sums[half][row] = columns.multiply_add(activation[row * column_blocks], sums[half][row]);
        }
      }
      ++activation;
    }
    block += kLayout.block_bytes();
  }
  const std::uint64_t first_output = panel * kPanelRows;
  const std::uint64_t left = params.matrix.rows - first_output;
  for (std::size_t row = 0; row < kRows; ++row) {
    store(params.output, first_row + row, first_output, lanes(left), sums[0][row]);
    if (left > kHalfRows) {
      store(params.output, first_row + row, first_output + kHalfRows, lanes(left - kHalfRows),
            sums[1][row]);
    }
  }
}

// Activation rows that stay in the second-level cache while the panels pass by.
constexpr std::size_t kCachedActivationBytes = 256 * 1024;

template <PanelLayout kLayout>
void multiply(const PackedProduct& params) {
  constexpr std::size_t kTile = 4;
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
      for (; row < end; ++row) {
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
}  // namespace zllm::kernel::cpu::avx2
