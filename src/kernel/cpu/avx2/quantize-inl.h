#pragma once

#include <immintrin.h>

#include <zllm/kernel/cpu/activation_block.h>

namespace zllm::kernel::cpu::avx2 {
namespace {

inline __m128i fold(__m256i value) { return _mm256_castsi256_si128(value); }

inline int largest_lane(__m256i value) {
  __m128i half = _mm_max_epi32(fold(value), _mm256_extracti128_si256(value, 1));
  half = _mm_max_epi32(half, _mm_shuffle_epi32(half, 0x4E));
  half = _mm_max_epi32(half, _mm_shuffle_epi32(half, 0xB1));
  return _mm_cvtsi128_si32(half);
}

inline int sum_of_lanes(__m256i value) {
  __m128i half = _mm_add_epi32(fold(value), _mm256_extracti128_si256(value, 1));
  half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4E));
  half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0xB1));
  return _mm_cvtsi128_si32(half);
}

inline void set_sums(ActivationBlock& block, float scale, std::int32_t first, std::int32_t second) {
  const std::int32_t sum = first + second;
  block.scale = scale;
  block.scaled_sum = scale * static_cast<float>(sum);
  block.scaled_half_sums[0] = scale * static_cast<float>(first);
  block.scaled_half_sums[1] = scale * static_cast<float>(second);
  block.start_8 = kFloatBaseBits - 8 * sum;
  block.start_128 = kFloatBaseBits - 128 * sum;
  block.half_starts_32[0] = kFloatBaseBits - 32 * first;
  block.half_starts_32[1] = kFloatBaseBits - 32 * second;
}

inline void quantize_block(const float *input, ActivationBlock& block) {
  __m256 values[4];
  __m256i largest = _mm256_setzero_si256();
  // Magnitudes compare as integers, where NaN is above infinity and infinity above all numbers.
  const __m256i magnitude = _mm256_set1_epi32(0x7FFFFFFF);
  for (int i = 0; i < 4; ++i) {
    values[i] = _mm256_loadu_ps(input + 8 * i);
    largest =
        _mm256_max_epi32(largest, _mm256_and_si256(_mm256_castps_si256(values[i]), magnitude));
  }
  const int bits = largest_lane(largest);
  const float limit = _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(bits)));
  if (bits >= 0x7F800000 || limit < kSmallestActivation) {
    block = ActivationBlock{};
    set_sums(block, bits >= 0x7F800000 ? __builtin_nanf("") : 0.0F, 0, 0);
    return;
  }
  const __m256 inverse = _mm256_set1_ps(127.0F / limit);
  __m256i codes[4];
  for (int i = 0; i < 4; ++i) {
    codes[i] = _mm256_cvtps_epi32(_mm256_mul_ps(values[i], inverse));
  }
  set_sums(block, limit / 127.0F, sum_of_lanes(_mm256_add_epi32(codes[0], codes[1])),
           sum_of_lanes(_mm256_add_epi32(codes[2], codes[3])));
  // Packing works within 128-bit halves; the permutation puts the dwords back in order.
  const __m256i packed = _mm256_packs_epi16(_mm256_packs_epi32(codes[0], codes[1]),
                                            _mm256_packs_epi32(codes[2], codes[3]));
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(block.codes),
                      _mm256_permutevar8x32_epi32(packed, order));
}

inline void quantize_row(const QuantizeRow& params) {
  for (std::size_t i = 0; i < params.columns / kActivationBlock; ++i) {
    quantize_block(params.input + i * kActivationBlock, params.blocks[i]);
  }
}

}  // namespace
}  // namespace zllm::kernel::cpu::avx2
