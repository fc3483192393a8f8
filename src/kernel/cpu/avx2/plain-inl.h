#pragma once

#include <immintrin.h>

#include <zllm/kernel/cpu/linear.h>

namespace zllm::kernel::cpu::avx2 {
namespace {

// Eight elements of a row-major matrix at any address.
template <encoding::Encoding kEncoding>
struct Elements;

template <>
struct Elements<encoding::Encoding::f32> {
  static constexpr std::size_t kBytes = 4;
  static __m256 load(const std::byte *place) {
    return _mm256_castsi256_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(place)));
  }
};

template <>
struct Elements<encoding::Encoding::f16> {
  static constexpr std::size_t kBytes = 2;
  static __m256 load(const std::byte *place) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(place)));
  }
};

template <>
struct Elements<encoding::Encoding::bf16> {
  static constexpr std::size_t kBytes = 2;
  static __m256 load(const std::byte *place) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i *>(place));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
  }
};

// The sum of the lanes in one fixed order.
inline float sum_of_lanes(__m256 value) {
  __m128 half = _mm_add_ps(_mm256_castps256_ps128(value), _mm256_extractf128_ps(value, 1));
  half = _mm_add_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
}

// kOutputs matrix rows times kRows activation rows, a vector of partial sums for each pair.
template <encoding::Encoding kEncoding, std::size_t kOutputs, std::size_t kRows>
[[gnu::noinline]] void multiply_plain_tile(const PlainProduct& params, std::uint64_t first_output,
                                           std::size_t first_row) {
  using Element = Elements<kEncoding>;
  const std::size_t row_bytes = params.columns * Element::kBytes;
  const std::byte *weights = params.weights + first_output * row_bytes;
  const float *activations = params.activations + first_row * params.activation_stride;
  __m256 sums[kOutputs][kRows];
  for (std::size_t output = 0; output < kOutputs; ++output) {
    for (std::size_t row = 0; row < kRows; ++row) {
      sums[output][row] = _mm256_setzero_ps();
    }
  }
  const std::size_t whole = params.columns / 8 * 8;
  for (std::size_t column = 0; column < whole; column += 8) {
    __m256 inputs[kRows];
    for (std::size_t row = 0; row < kRows; ++row) {
      inputs[row] = _mm256_loadu_ps(activations + row * params.activation_stride + column);
    }
    for (std::size_t output = 0; output < kOutputs; ++output) {
      const __m256 weight = Element::load(weights + output * row_bytes + column * Element::kBytes);
      for (std::size_t row = 0; row < kRows; ++row) {
        sums[output][row] = _mm256_fmadd_ps(weight, inputs[row], sums[output][row]);
      }
    }
  }
  const std::size_t rest = params.columns - whole;
  for (std::size_t output = 0; output < kOutputs; ++output) {
    std::byte tail[32] = {};
    __builtin_memcpy(tail, weights + output * row_bytes + whole * Element::kBytes,
                     rest * Element::kBytes);
    const __m256 weight = Element::load(tail);
    for (std::size_t row = 0; row < kRows; ++row) {
      float inputs[8] = {};
      __builtin_memcpy(inputs, activations + row * params.activation_stride + whole, rest * 4);
      sums[output][row] = _mm256_fmadd_ps(weight, _mm256_loadu_ps(inputs), sums[output][row]);
    }
  }
  for (std::size_t output = 0; output < kOutputs; ++output) {
    const std::uint64_t n = first_output + output;
    const float bias = params.output.bias == nullptr ? 0.0F : params.output.bias[n];
    for (std::size_t row = 0; row < kRows; ++row) {
      float *place = params.output.values + (first_row + row) * params.output.stride + n;
      const float sum = sum_of_lanes(sums[output][row]) + bias;
      *place = params.output.accumulate ? *place + sum : sum;
    }
  }
}

template <encoding::Encoding kEncoding, std::size_t kOutputs>
void multiply_plain_outputs(const PlainProduct& params, std::uint64_t output, std::size_t first_row,
                            std::size_t end_row) {
  std::size_t row = first_row;
  for (; row + 2 <= end_row; row += 2) {
    multiply_plain_tile<kEncoding, kOutputs, 2>(params, output, row);
  }
  for (; row < end_row; ++row) {
    multiply_plain_tile<kEncoding, kOutputs, 1>(params, output, row);
  }
}

// Activation rows that stay in the second-level cache while the matrix passes by.
constexpr std::size_t kCachedPlainBytes = 256 * 1024;

template <encoding::Encoding kEncoding>
void multiply_plain_as(const PlainProduct& params) {
  const std::size_t fitting = kCachedPlainBytes / (params.columns * sizeof(float) + 1) / 2 * 2;
  const std::size_t chunk = fitting < 2 ? 2 : fitting;
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
}  // namespace zllm::kernel::cpu::avx2
