#pragma once

#include <immintrin.h>

#include <cstddef>

#include <zllm/kernel/cpu/panel_layout.h>

// Code vectors of 32 columns of half a panel, eight rows.
namespace zllm::kernel::cpu::avx2 {
namespace {

constexpr std::size_t kHalfRows = 8;

inline __m256i load(const std::byte *bytes) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(bytes));
}

// Bits kFrom .. of every byte of the plane, kCount of them, to bit kTo.
template <int kFrom, int kCount, int kTo>
inline __m256i field(__m256i plane) {
  const __m256i mask = _mm256_set1_epi8(static_cast<char>(((1 << kCount) - 1) << kTo));
  if constexpr (kFrom > kTo) {
    plane = _mm256_srli_epi16(plane, kFrom - kTo);
  } else if constexpr (kFrom < kTo) {
    plane = _mm256_slli_epi16(plane, kTo - kFrom);
  }
  return _mm256_and_si256(plane, mask);
}

template <int kTo>
inline void merge_bits(__m256i (&codes)[8], __m256i plane) {
  codes[0] = _mm256_or_si256(codes[0], field<0, 1, kTo>(plane));
  codes[1] = _mm256_or_si256(codes[1], field<1, 1, kTo>(plane));
  codes[2] = _mm256_or_si256(codes[2], field<2, 1, kTo>(plane));
  codes[3] = _mm256_or_si256(codes[3], field<3, 1, kTo>(plane));
  codes[4] = _mm256_or_si256(codes[4], field<4, 1, kTo>(plane));
  codes[5] = _mm256_or_si256(codes[5], field<5, 1, kTo>(plane));
  codes[6] = _mm256_or_si256(codes[6], field<6, 1, kTo>(plane));
  codes[7] = _mm256_or_si256(codes[7], field<7, 1, kTo>(plane));
}

template <int kTo>
inline void merge_pairs(__m256i *codes, __m256i plane) {
  codes[0] = _mm256_or_si256(codes[0], field<0, 2, kTo>(plane));
  codes[1] = _mm256_or_si256(codes[1], field<2, 2, kTo>(plane));
  codes[2] = _mm256_or_si256(codes[2], field<4, 2, kTo>(plane));
  codes[3] = _mm256_or_si256(codes[3], field<6, 2, kTo>(plane));
}

inline void split_pairs(__m256i *codes, __m256i plane) {
  codes[0] = field<0, 2, 0>(plane);
  codes[1] = field<2, 2, 0>(plane);
  codes[2] = field<4, 2, 0>(plane);
  codes[3] = field<6, 2, 0>(plane);
}

// Signed values where unsigned codes would overflow 16-bit sums of pairs, else code or code + 16.
template <PanelLayout kLayout>
constexpr bool kSignedCodes = kLayout.low_bits == 8 || kLayout.table == CodeTable::iq4;

template <CodeTable kTable>
inline __m256i table() {
  if constexpr (kTable == CodeTable::iq4) {
    return _mm256_broadcastsi128_si256(
        _mm_setr_epi8(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113));
  } else {
    return _mm256_broadcastsi128_si256(
        _mm_setr_epi8(16, 17, 18, 19, 20, 22, 24, 28, 16, 15, 14, 13, 12, 10, 8, 4));
  }
}

template <PanelLayout kLayout>
inline void unpack_codes(const std::byte *place, __m256i (&codes)[8]) {
  if constexpr (kLayout.low_bits == 8) {
    for (std::size_t g = 0; g < 8; ++g) {
      codes[g] = _mm256_xor_si256(load(place + g * kCodeVectorBytes), _mm256_set1_epi8(-128));
    }
  } else if constexpr (kLayout.low_bits == 4) {
    for (std::size_t j = 0; j < 4; ++j) {
      const __m256i pair = load(place + j * kCodeVectorBytes);
      codes[j] = field<0, 4, 0>(pair);
      codes[j + 4] = field<4, 4, 0>(pair);
    }
  } else {
    split_pairs(codes, load(place));
    split_pairs(codes + 4, load(place + kCodeVectorBytes));
  }
  const std::byte *high = place + kLayout.low_bytes();
  if constexpr (kLayout.high_bits == 1) {
    merge_bits<kLayout.low_bits>(codes, load(high));
  } else if constexpr (kLayout.high_bits == 2) {
    merge_pairs<kLayout.low_bits>(codes, load(high));
    merge_pairs<kLayout.low_bits>(codes + 4, load(high + kCodeVectorBytes));
  }
  if constexpr (kLayout.table != CodeTable::none) {
    for (std::size_t g = 0; g < 8; ++g) {
      codes[g] = _mm256_shuffle_epi8(table<kLayout.table>(), codes[g]);
    }
  }
}

inline __m256 load_halves(const std::byte *halves) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(halves)));
}

inline __m128i load_bytes(const std::byte *bytes) {
  return _mm_loadl_epi64(reinterpret_cast<const __m128i *>(bytes));
}

// Scales of eight rows: of a block, and of runs of columns in it.
template <PanelLayout kLayout>
struct Scales {
  Scales(const std::byte *block, std::size_t first_row)
      : sub_scales(block + kLayout.sub_scales_offset() + first_row) {
    if constexpr (kLayout.scale == BlockScale::exponent) {
      // 2^(e - 128); below 2^-126 only the mantissa can say it.
      const __m256i e = _mm256_cvtepu8_epi32(load_bytes(block + first_row));
      const __m256i normal = _mm256_slli_epi32(_mm256_sub_epi32(e, _mm256_set1_epi32(1)), 23);
      const __m256i tiny = _mm256_sllv_epi32(_mm256_set1_epi32(0x00200000), e);
      const __m256i is_tiny = _mm256_cmpgt_epi32(_mm256_set1_epi32(2), e);
      scale = _mm256_castsi256_ps(_mm256_blendv_epi8(normal, tiny, is_tiny));
    } else {
      scale = load_halves(block + 2 * first_row);
    }
    if constexpr (kLayout.has_minimum) {
      minimum = load_halves(block + kLayout.scale_bytes() + 2 * first_row);
    }
  }

  __m256 run_scale(std::size_t run) const {
    if constexpr (kLayout.sub_scales == SubScales::none) {
      return scale;
    } else {
      const __m128i bytes = load_bytes(sub_scales + run * kPanelRows);
      __m256i integers;
      if constexpr (kLayout.sub_scales == SubScales::signed_byte) {
        integers = _mm256_cvtepi8_epi32(bytes);
      } else if constexpr (kLayout.sub_scales == SubScales::with_minima) {
        integers = _mm256_cvtepu8_epi32(bytes);
      } else {
        integers = _mm256_and_si256(_mm256_cvtepu8_epi32(bytes), _mm256_set1_epi32(15));
      }
      return _mm256_mul_ps(scale, _mm256_cvtepi32_ps(integers));
    }
  }

  // What code zero means: added, so minima of sub-blocks come negated.
  __m256 run_minimum(std::size_t run) const {
    if constexpr (kLayout.sub_scales == SubScales::none) {
      return minimum;
    } else {
      const std::size_t shift =
          kLayout.sub_scales == SubScales::with_minima ? kLayout.sub_scale_bytes() : 0;
      __m256i integers = _mm256_cvtepu8_epi32(load_bytes(sub_scales + shift + run * kPanelRows));
      if constexpr (kLayout.sub_scales == SubScales::nibbles_with_minima) {
        integers = _mm256_srli_epi32(integers, 4);
      }
      const __m256 negated = _mm256_sub_ps(_mm256_setzero_ps(), minimum);
      return _mm256_mul_ps(negated, _mm256_cvtepi32_ps(integers));
    }
  }

  const std::byte *sub_scales;
  __m256 scale = _mm256_setzero_ps();
  __m256 minimum = _mm256_setzero_ps();
};

}  // namespace
}  // namespace zllm::kernel::cpu::avx2
