#pragma once

#include <immintrin.h>

#include <zllm/kernel/cpu/linear.h>

namespace zllm::kernel::cpu::avx512 {
namespace {

// The first `count` lanes, at most sixteen.
inline __mmask16 lanes(std::uint64_t count) {
  return count >= 16 ? static_cast<__mmask16>(0xFFFF) : static_cast<__mmask16>((1U << count) - 1U);
}

// Sixteen consecutive outputs of one activation row.
inline void store(const ProductOutput& output, std::size_t row, std::uint64_t first, __mmask16 mask,
                  __m512 sums) {
  float *place = output.values + row * output.stride + first;
  if (output.bias != nullptr) {
    sums = _mm512_add_ps(sums, _mm512_maskz_loadu_ps(mask, output.bias + first));
  }
  if (output.accumulate) {
    sums = _mm512_add_ps(_mm512_maskz_loadu_ps(mask, place), sums);
  }
  _mm512_mask_storeu_ps(place, mask, sums);
}

}  // namespace
}  // namespace zllm::kernel::cpu::avx512
