#pragma once

#include <immintrin.h>

#include <zllm/kernel/cpu/linear.h>

namespace zllm::kernel::cpu::avx512 {
namespace {

// Sixteen elements of a row-major matrix at any address.
template <encoding::Encoding kEncoding>
struct Elements;

template <>
struct Elements<encoding::Encoding::f32> {
  static constexpr std::size_t kBytes = 4;
  static __m512 load(const std::byte *place, __mmask16 mask) {
    return _mm512_maskz_loadu_ps(mask, place);
  }
};

template <>
struct Elements<encoding::Encoding::f16> {
  static constexpr std::size_t kBytes = 2;
  static __m512 load(const std::byte *place, __mmask16 mask) {
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, place));
  }
};

template <>
struct Elements<encoding::Encoding::bf16> {
  static constexpr std::size_t kBytes = 2;
  static __m512 load(const std::byte *place, __mmask16 mask) {
    const __m256i bits = _mm256_maskz_loadu_epi16(mask, place);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
  }
};

// The sum of the lanes in one fixed order.
inline float sum_of_lanes(__m512 value) {
  const __m256 halves =
      _mm256_add_ps(_mm512_castps512_ps256(value),
                    _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(value), 1)));
  __m128 quarters = _mm_add_ps(_mm256_castps256_ps128(halves), _mm256_extractf128_ps(halves, 1));
  quarters = _mm_add_ps(quarters, _mm_movehl_ps(quarters, quarters));
  return _mm_cvtss_f32(_mm_add_ss(quarters, _mm_movehdup_ps(quarters)));
}

// kOutputs matrix rows times kRows activation rows, a vector of partial sums for each pair.
template <encoding::Encoding kEncoding, std::size_t kOutputs, std::size_t kRows>
[[gnu::noinline]] void multiply_plain_tile(const PlainProduct& params, std::uint64_t first_output,
                                           std::size_t first_row) {
  using Element = Elements<kEncoding>;
  const std::size_t row_bytes = params.columns * Element::kBytes;
  const std::byte *weights = params.weights + first_output * row_bytes;
  const float *activations = params.activations + first_row * params.activation_stride;
  __m512 sums[kOutputs][kRows];
  for (std::size_t output = 0; output < kOutputs; ++output) {
    for (std::size_t row = 0; row < kRows; ++row) {
      sums[output][row] = _mm512_setzero_ps();
    }
  }
  const auto step = [&](std::size_t column, __mmask16 mask) {
    __m512 inputs[kRows];
    for (std::size_t row = 0; row < kRows; ++row) {
      inputs[row] =
          _mm512_maskz_loadu_ps(mask, activations + row * params.activation_stride + column);
    }
    for (std::size_t output = 0; output < kOutputs; ++output) {
      const __m512 weight =
          Element::load(weights + output * row_bytes + column * Element::kBytes, mask);
      for (std::size_t row = 0; row < kRows; ++row) {
        sums[output][row] = _mm512_fmadd_ps(weight, inputs[row], sums[output][row]);
      }
    }
  };
  const std::size_t whole = params.columns / 16 * 16;
  for (std::size_t column = 0; column < whole; column += 16) {
    step(column, static_cast<__mmask16>(0xFFFF));
  }
  if (whole < params.columns) {
    step(whole, static_cast<__mmask16>((1U << (params.columns - whole)) - 1U));
  }
  for (std::size_t output = 0; output < kOutputs; ++output) {
    const std::uint64_t n = first_output + output;
    const float bias = params.output.bias == nullptr ? 0.0F : params.output.bias[n];
    for (std::size_t row = 0; row < kRows; ++row) {
      const std::size_t m = first_row + row;
      float *place = params.output.values + m * params.output.stride + n;
      const float sum = sum_of_lanes(sums[output][row]) + bias;
      *place = params.output.accumulate ? *place + sum : sum;
    }
  }
}

template <encoding::Encoding kEncoding, std::size_t kOutputs>
void multiply_plain_outputs(const PlainProduct& params, std::uint64_t output, std::size_t first_row,
                            std::size_t end_row) {
  std::size_t row = first_row;
  for (; row + 4 <= end_row; row += 4) {
    multiply_plain_tile<kEncoding, kOutputs, 4>(params, output, row);
  }
  for (; row < end_row; ++row) {
    multiply_plain_tile<kEncoding, kOutputs, 1>(params, output, row);
  }
}

// Activation rows that stay in the second-level cache while the matrix passes by.
constexpr std::size_t kCachedPlainBytes = 768 * 1024;

template <encoding::Encoding kEncoding>
void multiply_plain_as(const PlainProduct& params) {
  const std::size_t fitting = kCachedPlainBytes / (params.columns * sizeof(float) + 1) / 4 * 4;
  const std::size_t chunk = fitting < 4 ? 4 : fitting;
  for (std::size_t first = 0; first < params.activation_rows; first += chunk) {
    const std::size_t left = params.activation_rows - first;
    const std::size_t end = first + (left < chunk ? left : chunk);
    std::uint64_t output = params.first_row;
    for (; output + 4 <= params.end_row; output += 4) {
      multiply_plain_outputs<kEncoding, 4>(params, output, first, end);
    }
    for (; output < params.end_row; ++output) {
      multiply_plain_outputs<kEncoding, 1>(params, output, first, end);
    }
  }
}

void multiply_plain(const PlainProduct& params) {
  switch (params.encoding) {
    case encoding::Encoding::f32:
      return multiply_plain_as<encoding::Encoding::f32>(params);
    case encoding::Encoding::f16:
      return multiply_plain_as<encoding::Encoding::f16>(params);
    case encoding::Encoding::bf16:
      return multiply_plain_as<encoding::Encoding::bf16>(params);
    default:
      return;
  }
}

}  // namespace
}  // namespace zllm::kernel::cpu::avx512
