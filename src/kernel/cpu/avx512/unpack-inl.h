#pragma once

#include <immintrin.h>

#include <cstddef>

#include <zllm/kernel/cpu/panel_layout.h>

// Code vectors of 32 columns of a panel as unsigned bytes.
namespace zllm::kernel::cpu::avx512 {
namespace {

inline __m512i load(const std::byte *bytes) { return _mm512_loadu_si512(bytes); }

template <int kRight>
inline __m512i shift_right(__m512i value) {
  if constexpr (kRight > 0) {
    return _mm512_srli_epi16(value, static_cast<unsigned>(kRight));
  } else if constexpr (kRight < 0) {
    return _mm512_slli_epi16(value, static_cast<unsigned>(-kRight));
  } else {
    return value;
  }
}

// Bits kFrom .. of every byte of the plane, kCount of them, to bit kTo.
template <int kFrom, std::size_t kCount, int kTo = 0>
inline __m512i field(__m512i plane) {
  const __m512i mask = _mm512_set1_epi8(static_cast<char>(((1 << kCount) - 1) << kTo));
  return _mm512_and_si512(shift_right<kFrom - kTo>(plane), mask);
}

// codes | field(plane), in one operation after the shift.
template <int kFrom, std::size_t kCount, int kTo>
inline __m512i merge(__m512i codes, __m512i plane) {
  const __m512i mask = _mm512_set1_epi8(static_cast<char>(((1 << kCount) - 1) << kTo));
  constexpr int kOrAnd = 0xF8;  // a | (b & c)
  return _mm512_ternarylogic_epi32(codes, shift_right<kFrom - kTo>(plane), mask, kOrAnd);
}

template <int kTo>
inline void merge_bits(__m512i (&codes)[8], __m512i plane) {
  codes[0] = merge<0, 1, kTo>(codes[0], plane);
  codes[1] = merge<1, 1, kTo>(codes[1], plane);
  codes[2] = merge<2, 1, kTo>(codes[2], plane);
  codes[3] = merge<3, 1, kTo>(codes[3], plane);
  codes[4] = merge<4, 1, kTo>(codes[4], plane);
  codes[5] = merge<5, 1, kTo>(codes[5], plane);
  codes[6] = merge<6, 1, kTo>(codes[6], plane);
  codes[7] = merge<7, 1, kTo>(codes[7], plane);
}

template <int kTo>
inline void merge_pairs(__m512i *codes, __m512i plane) {
  codes[0] = merge<0, 2, kTo>(codes[0], plane);
  codes[1] = merge<2, 2, kTo>(codes[1], plane);
  codes[2] = merge<4, 2, kTo>(codes[2], plane);
  codes[3] = merge<6, 2, kTo>(codes[3], plane);
}

inline void split_pairs(__m512i *codes, __m512i plane) {
  codes[0] = field<0, 2>(plane);
  codes[1] = field<2, 2>(plane);
  codes[2] = field<4, 2>(plane);
  codes[3] = field<6, 2>(plane);
}

// Table entries plus the layout's offset, so that they are unsigned.
template <CodeTable kTable>
inline __m512i table() {
  if constexpr (kTable == CodeTable::iq4) {
    return _mm512_broadcast_i32x4(
        _mm_setr_epi8(1, 24, 45, 63, 79, 93, 106, 118, -127, -115, -103, -90, -75, -59, -39, -15));
  } else {
    return _mm512_broadcast_i32x4(
        _mm_setr_epi8(16, 17, 18, 19, 20, 22, 24, 28, 16, 15, 14, 13, 12, 10, 8, 4));
  }
}

template <PanelLayout kLayout>
inline void unpack_codes(const std::byte *place, __m512i (&codes)[8]) {
  if constexpr (kLayout.low_bits == 8) {
    for (std::size_t g = 0; g < 8; ++g) {
      codes[g] = load(place + g * kCodeVectorBytes);
    }
  } else if constexpr (kLayout.low_bits == 4) {
    for (std::size_t j = 0; j < 4; ++j) {
      const __m512i pair = load(place + j * kCodeVectorBytes);
      codes[j] = field<0, 4>(pair);
      codes[j + 4] = field<4, 4>(pair);
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
      codes[g] = _mm512_shuffle_epi8(table<kLayout.table>(), codes[g]);
    }
  }
}

inline __m512 load_halves(const std::byte *halves) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(halves)));
}

inline __m128i load_bytes(const std::byte *bytes) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i *>(bytes));
}

// Scales of the sixteen rows: of a block, and of runs of columns in it.
template <PanelLayout kLayout>
struct Scales {
  explicit Scales(const std::byte *block) : sub_scales(block + kLayout.sub_scales_offset()) {
    if constexpr (kLayout.scale == BlockScale::exponent) {
      // 2^(e - 128); below 2^-126 only the mantissa can say it.
      const __m512i e = _mm512_cvtepu8_epi32(load_bytes(block));
      const __m512i normal = _mm512_slli_epi32(_mm512_sub_epi32(e, _mm512_set1_epi32(1)), 23);
      const __m512i tiny = _mm512_sllv_epi32(_mm512_set1_epi32(0x00200000), e);
      scale = _mm512_castsi512_ps(
          _mm512_mask_blend_epi32(_mm512_cmplt_epi32_mask(e, _mm512_set1_epi32(2)), normal, tiny));
    } else {
      scale = load_halves(block);
    }
    if constexpr (kLayout.has_minimum) {
      minimum = load_halves(block + kLayout.scale_bytes());
    }
  }

  __m512 run_scale(std::size_t run) const {
    if constexpr (kLayout.sub_scales == SubScales::none) {
      return scale;
    } else {
      const __m128i bytes = load_bytes(sub_scales + run * kPanelRows);
      __m512i integers;
      if constexpr (kLayout.sub_scales == SubScales::signed_byte) {
        integers = _mm512_cvtepi8_epi32(bytes);
      } else if constexpr (kLayout.sub_scales == SubScales::with_minima) {
        integers = _mm512_cvtepu8_epi32(bytes);
      } else {
        integers = _mm512_and_si512(_mm512_cvtepu8_epi32(bytes), _mm512_set1_epi32(15));
      }
      return _mm512_mul_ps(scale, _mm512_cvtepi32_ps(integers));
    }
  }

  // What code zero means: added, so minima of sub-blocks come negated.
  __m512 run_minimum(std::size_t run) const {
    if constexpr (kLayout.sub_scales == SubScales::none) {
      return minimum;
    } else {
      const std::size_t shift =
          kLayout.sub_scales == SubScales::with_minima ? kLayout.sub_scale_bytes() : 0;
      __m512i integers = _mm512_cvtepu8_epi32(load_bytes(sub_scales + shift + run * kPanelRows));
      if constexpr (kLayout.sub_scales == SubScales::nibbles_with_minima) {
        integers = _mm512_srli_epi32(integers, 4);
      }
      const __m512 negated = _mm512_sub_ps(_mm512_setzero_ps(), minimum);
      return _mm512_mul_ps(negated, _mm512_cvtepi32_ps(integers));
    }
  }

  const std::byte *sub_scales;
  __m512 scale = _mm512_setzero_ps();
  __m512 minimum = _mm512_setzero_ps();
};

}  // namespace
}  // namespace zllm::kernel::cpu::avx512
