#pragma once

#include <immintrin.h>

#include <zllm/kernel/cpu/linear.h>

namespace zllm::kernel::cpu::avx2 {
namespace {

// The first `count` lanes, at most eight.
inline __m256i lanes(std::uint64_t count) {
  const __m256i limit = _mm256_set1_epi32(count >= 8 ? 8 : static_cast<int>(count));
  return _mm256_cmpgt_epi32(limit, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

// Eight consecutive outputs of one activation row.
inline void store(const ProductOutput& output, std::size_t row, std::uint64_t first, __m256i mask,
                  __m256 sums) {
  float *place = output.values + row * output.stride + first;
  if (output.bias != nullptr) {
    sums = _mm256_add_ps(sums, _mm256_maskload_ps(output.bias + first, mask));
  }
  if (output.accumulate) {
    sums = _mm256_add_ps(_mm256_maskload_ps(place, mask), sums);
  }
  _mm256_maskstore_ps(place, mask, sums);
}

}  // namespace
}  // namespace zllm::kernel::cpu::avx2
