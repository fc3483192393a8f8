#include <zllm/backend/cpu/stream_mixing.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include <zllm/kernel/cpu/stream.h>

namespace zllm::backend::cpu {
namespace {

using kernel::cpu::kStreams;

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

// [n, n], row-major without gaps.
using Square = std::array<double, kStreams * kStreams>;

void softmax_rows(Square& square, std::size_t n, double epsilon) {
  for (std::size_t row = 0; row < n; ++row) {
    const std::span<double> values(square.data() + row * n, n);
    const double highest = *std::ranges::max_element(values);
    double total = 0.0;
    for (double& value : values) {
      value = std::exp(value - highest);
      total += value;
    }
    const double factor = 1.0 / total;
    for (double& value : values) {
      value = value * factor + epsilon;
    }
  }
}

void divide_columns(Square& square, std::size_t n, double epsilon) {
  std::array<double, kStreams> sums;
  std::fill_n(sums.begin(), n, epsilon);
  for (std::size_t row = 0; row < n; ++row) {
    for (std::size_t column = 0; column < n; ++column) {
      sums[column] += square[row * n + column];
    }
  }
  for (std::size_t column = 0; column < n; ++column) {
    sums[column] = 1.0 / sums[column];
  }
  for (std::size_t row = 0; row < n; ++row) {
    for (std::size_t column = 0; column < n; ++column) {
      square[row * n + column] *= sums[column];
    }
  }
}

void divide_rows(Square& square, std::size_t n, double epsilon) {
  for (std::size_t row = 0; row < n; ++row) {
    double sum = epsilon;
    for (std::size_t column = 0; column < n; ++column) {
      sum += square[row * n + column];
    }
    const double factor = 1.0 / sum;
    for (std::size_t column = 0; column < n; ++column) {
      square[row * n + column] *= factor;
    }
  }
}

}  // namespace

void mix_row(const residual::HyperConnectionSpec& spec, std::span<const float> logits,
             double inverse_norm, const float *base, const float *scale, std::span<float> before,
             std::span<float> mixing) {
  const std::size_t n = spec.streams;
  const auto logit = [&](std::size_t index, std::size_t part) {
    return static_cast<double>(logits[index]) * inverse_norm * static_cast<double>(scale[part]) +
           static_cast<double>(base[index]);
  };
  for (std::size_t k = 0; k < n; ++k) {
    before[k] = static_cast<float>(sigmoid(logit(k, 0)) + spec.epsilon);
    mixing[k] = static_cast<float>(2.0 * sigmoid(logit(n + k, 1)));
  }
  Square combine;
  for (std::size_t i = 0; i < n * n; ++i) {
    combine[i] = logit(2 * n + i, 2);
  }
  softmax_rows(combine, n, spec.epsilon);
  divide_columns(combine, n, spec.epsilon);
  for (std::uint32_t i = 1; i < spec.iterations; ++i) {
    divide_rows(combine, n, spec.epsilon);
    divide_columns(combine, n, spec.epsilon);
  }
  std::transform(combine.begin(), combine.begin() + static_cast<std::ptrdiff_t>(n * n),
                 mixing.begin() + static_cast<std::ptrdiff_t>(n),
                 [](double value) { return static_cast<float>(value); });
}

}  // namespace zllm::backend::cpu
