#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include <zllm/kernel/cpu/bfloat16.h>

// What generic kernels need of this instruction set (scalar/simd-inl.h states the contract). The
// anonymous namespace gives everything instantiated with it internal linkage.
namespace zllm::kernel::cpu::avx2 {
namespace {

struct Simd {
  using Vec = __m256;
  static constexpr std::size_t kLanes = 8;
  // 6 rows: 12 sums of scores beside 2 keys, or 12 of values beside 2, fit 16 registers.
  static constexpr std::size_t kTileRows = 6;
  static constexpr std::size_t kValueVecs = 2;

  static __m256i lanes_below(std::size_t count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }

  static Vec zero() { return _mm256_setzero_ps(); }
  static Vec set(float value) { return _mm256_set1_ps(value); }
  static Vec load(const float *from) { return _mm256_loadu_ps(from); }
  static Vec load(const std::uint16_t *from) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(from)));
  }
  static Vec load(const BFloat16 *from) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i *>(from));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
  }
  static Vec load_first(const float *from, std::size_t count) {
    return _mm256_maskload_ps(from, lanes_below(count));
  }
  static void store(float *to, Vec v) { _mm256_storeu_ps(to, v); }
  static void store(std::uint16_t *to, Vec v) {
    _mm_storeu_si128(reinterpret_cast<__m128i *>(to),
                     _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  static void store_first(float *to, Vec v, std::size_t count) {
    _mm256_maskstore_ps(to, lanes_below(count), v);
  }

  static Vec add(Vec a, Vec b) { return _mm256_add_ps(a, b); }
  static Vec subtract(Vec a, Vec b) { return _mm256_sub_ps(a, b); }
  static Vec multiply(Vec a, Vec b) { return _mm256_mul_ps(a, b); }
  static Vec divide(Vec a, Vec b) { return _mm256_div_ps(a, b); }
  static Vec fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
  static Vec minimum(Vec a, Vec b) { return _mm256_min_ps(a, b); }
  static Vec maximum(Vec a, Vec b) { return _mm256_max_ps(a, b); }
  static Vec round(Vec v) {
    return _mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  static Vec power_of_two(__m256i power) {
    return _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_add_epi32(power, _mm256_set1_epi32(127)), 23));
  }
  static Vec scale_by_power(Vec v, Vec power) {
    const __m256i whole = _mm256_cvtps_epi32(power);
    const __m256i half = _mm256_srai_epi32(whole, 1);
    const __m256i rest = _mm256_sub_epi32(whole, half);
    return _mm256_mul_ps(_mm256_mul_ps(v, power_of_two(half)), power_of_two(rest));
  }
  static Vec magnitude(Vec v) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0F), v); }
  static Vec select_less(Vec a, Vec b, Vec yes, Vec no) {
    return _mm256_blendv_ps(no, yes, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
  }
  static Vec with_sign_of(Vec v, Vec sign) {
    const __m256 bit = _mm256_set1_ps(-0.0F);
    return _mm256_or_ps(_mm256_and_ps(bit, sign), _mm256_andnot_ps(bit, v));
  }
  static Vec keep_lanes(Vec v, std::size_t first, std::size_t last, float other) {
    const __m256i kept = _mm256_andnot_si256(lanes_below(first), lanes_below(last));
    return _mm256_blendv_ps(_mm256_set1_ps(other), v, _mm256_castsi256_ps(kept));
  }
  static float sum(Vec v) {
    __m128 x = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
  }
  static float largest(Vec v) {
    __m128 x = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    x = _mm_max_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_max_ss(x, _mm_movehdup_ps(x)));
  }
};

}  // namespace
}  // namespace zllm::kernel::cpu::avx2
