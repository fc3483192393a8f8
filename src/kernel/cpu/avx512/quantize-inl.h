#pragma once

#include <immintrin.h>

#include <zllm/kernel/cpu/activation_block.h>

namespace zllm::kernel::cpu::avx512 {
namespace {

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
  const __m512 low = _mm512_loadu_ps(input);
  const __m512 high = _mm512_loadu_ps(input + 16);
  // Magnitudes compare as integers, where NaN is above infinity and infinity above all numbers.
  const __m512i magnitude = _mm512_set1_epi32(0x7FFFFFFF);
  const __m512i largest = _mm512_max_epi32(_mm512_and_si512(_mm512_castps_si512(low), magnitude),
                                           _mm512_and_si512(_mm512_castps_si512(high), magnitude));
  const int bits = _mm512_reduce_max_epi32(largest);
  const float limit = _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(bits)));
  if (bits >= 0x7F800000 || limit < kSmallestActivation) {
    block = ActivationBlock{};
    set_sums(block, bits >= 0x7F800000 ? __builtin_nanf("") : 0.0F, 0, 0);
    return;
  }
  const __m512 inverse = _mm512_set1_ps(127.0F / limit);
  const __m512i low_codes = _mm512_cvtps_epi32(_mm512_mul_ps(low, inverse));
  const __m512i high_codes = _mm512_cvtps_epi32(_mm512_mul_ps(high, inverse));
  auto *codes = reinterpret_cast<__m128i *>(block.codes);
  _mm_storeu_si128(codes, _mm512_cvtepi32_epi8(low_codes));
  _mm_storeu_si128(codes + 1, _mm512_cvtepi32_epi8(high_codes));
  set_sums(block, limit / 127.0F, _mm512_reduce_add_epi32(low_codes),
           _mm512_reduce_add_epi32(high_codes));
}

inline void quantize_row(const QuantizeRow& params) {
  for (std::size_t i = 0; i < params.columns / kActivationBlock; ++i) {
    quantize_block(params.input + i * kActivationBlock, params.blocks[i]);
  }
}

}  // namespace
}  // namespace zllm::kernel::cpu::avx512
