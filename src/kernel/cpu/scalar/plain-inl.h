#pragma once

#include <cstring>

#include <zllm/encoding/half.h>
#include <zllm/kernel/cpu/linear.h>
#include <zllm/kernel/cpu/scalar/output-inl.h>

namespace zllm::kernel::cpu::scalar {
namespace {

template <encoding::Encoding kEncoding>
inline float element(const std::byte *weights, std::size_t index) {
  if constexpr (kEncoding == encoding::Encoding::f32) {
    float value = 0;
    std::memcpy(&value, weights + index * sizeof(value), sizeof(value));
    return value;
  } else {
    std::uint16_t bits = 0;
    std::memcpy(&bits, weights + index * sizeof(bits), sizeof(bits));
    return kEncoding == encoding::Encoding::f16 ? encoding::f16_to_f32(bits)
                                                : encoding::bf16_to_f32(bits);
  }
}

constexpr std::size_t kPartialSums = 8;  // independent chains, added pairwise at the end
constexpr std::size_t kPlainRows = 4;    // activation rows for which a weight is decoded once

inline float total(const float (&sums)[kPartialSums]) {
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

template <encoding::Encoding kEncoding>
void multiply_plain_rows(const PlainProduct& params, std::uint64_t output, std::size_t first_row,
                         std::size_t rows) {
  constexpr std::size_t kElementBytes = kEncoding == encoding::Encoding::f32 ? 4 : 2;
  const std::byte *weights = params.weights + output * params.columns * kElementBytes;
  const float *activations = params.activations + first_row * params.activation_stride;
  float sums[kPlainRows][kPartialSums] = {};
  for (std::size_t column = 0; column < params.columns; ++column) {
    const float weight = element<kEncoding>(weights, column);
    for (std::size_t row = 0; row < rows; ++row) {
      sums[row][column % kPartialSums] +=
          weight * activations[row * params.activation_stride + column];
    }
  }
  for (std::size_t row = 0; row < rows; ++row) {
    store(params.output, first_row + row, output, total(sums[row]));
  }
}

template <encoding::Encoding kEncoding>
void multiply_plain_as(const PlainProduct& params) {
  for (std::uint64_t output = params.first_row; output < params.end_row; ++output) {
    for (std::size_t row = 0; row < params.activation_rows; row += kPlainRows) {
      const std::size_t left = params.activation_rows - row;
      multiply_plain_rows<kEncoding>(params, output, row, left < kPlainRows ? left : kPlainRows);
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
}  // namespace zllm::kernel::cpu::scalar
