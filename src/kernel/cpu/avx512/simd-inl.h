#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include <zllm/kernel/cpu/bfloat16.h>

// What generic kernels need of this instruction set (scalar/simd-inl.h states the contract). The
// anonymous namespace gives everything instantiated with it internal linkage.
namespace zllm::kernel::cpu::avx512 {
namespace {

struct Simd {
  using Vec = __m512;
  static constexpr std::size_t kLanes = 16;
  // 6 rows: 12 sums of scores, or 24 of values beside 4 loaded values, fill the 32 registers.
  static constexpr std::size_t kTileRows = 6;
  static constexpr std::size_t kValueVecs = 4;

  static __mmask16 first_lanes(std::size_t count) {
    return static_cast<__mmask16>((1U << count) - 1U);
  }

  static Vec zero() { return _mm512_setzero_ps(); }
  static Vec set(float value) { return _mm512_set1_ps(value); }
  static Vec load(const float *from) { return _mm512_loadu_ps(from); }
  static Vec load(const std::uint16_t *from) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(from)));
  }
  static Vec load(const BFloat16 *from) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
  }
  static Vec load_first(const float *from, std::size_t count) {
    return _mm512_maskz_loadu_ps(first_lanes(count), from);
  }
  static void store(float *to, Vec v) { _mm512_storeu_ps(to, v); }
  static void store(std::uint16_t *to, Vec v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(to),
                        _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  static void store_first(float *to, Vec v, std::size_t count) {
    _mm512_mask_storeu_ps(to, first_lanes(count), v);
  }

  static Vec add(Vec a, Vec b) { return _mm512_add_ps(a, b); }
  static Vec subtract(Vec a, Vec b) { return _mm512_sub_ps(a, b); }
  static Vec multiply(Vec a, Vec b) { return _mm512_mul_ps(a, b); }
  static Vec divide(Vec a, Vec b) { return _mm512_div_ps(a, b); }
  static Vec fma(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
  static Vec minimum(Vec a, Vec b) { return _mm512_min_ps(a, b); }
  static Vec maximum(Vec a, Vec b) { return _mm512_max_ps(a, b); }
  static Vec round(Vec v) { return _mm512_roundscale_ps(v, 0); }
  static Vec scale_by_power(Vec v, Vec power) { return _mm512_scalef_ps(v, power); }
  static Vec magnitude(Vec v) { return _mm512_abs_ps(v); }
  static Vec select_less(Vec a, Vec b, Vec yes, Vec no) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), no, yes);
  }
  static Vec with_sign_of(Vec v, Vec sign) {
    const __m512i bit = _mm512_set1_epi32(INT32_MIN);
    return _mm512_castsi512_ps(
        _mm512_ternarylogic_epi32(bit, _mm512_castps_si512(sign), _mm512_castps_si512(v), 0xCA));
  }
  static Vec keep_lanes(Vec v, std::size_t first, std::size_t last, float other) {
    const __mmask16 kept = static_cast<__mmask16>(first_lanes(last) & ~first_lanes(first));
    return _mm512_mask_blend_ps(kept, _mm512_set1_ps(other), v);
  }
  static float sum(Vec v) { return _mm512_reduce_add_ps(v); }
  static float largest(Vec v) { return _mm512_reduce_max_ps(v); }
};

}  // namespace
}  // namespace zllm::kernel::cpu::avx512
