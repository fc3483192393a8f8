#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <zllm/base/cpu_features.h>
#include <zllm/encoding/encoding.h>
#include <zllm/encoding/half.h>
#include <zllm/kernel/cpu/dispatch/linear_dispatch.h>
#include <zllm/kernel/cpu/isa.h>
#include <zllm/kernel/cpu/packed_matrix.h>

// Random matrices and the double-precision reference for the tests of the products.
namespace zllm::kernel::cpu {
namespace {

using encoding::Encoding;

constexpr float kUntouched = 123.5F;

[[maybe_unused]] std::vector<Isa> present() {
  std::vector<Isa> all = {Isa::scalar};
  for (const Isa isa : {Isa::avx2, Isa::avx512}) {
    if (best_isa(cpu_features(), isa) == isa) {
      all.push_back(isa);
    }
  }
  return all;
}

[[maybe_unused]] std::vector<Encoding> encodings(bool (*wanted)(Encoding)) {
  std::vector<Encoding> all;
  for (std::size_t i = 0; i < encoding::kEncodingCount; ++i) {
    if (wanted(static_cast<Encoding>(i))) {
      all.push_back(static_cast<Encoding>(i));
    }
  }
  return all;
}

// Where a block has half floats.
[[maybe_unused]] std::vector<std::size_t> half_places(Encoding encoding) {
  const std::size_t end = encoding::info(encoding).block_bytes;
  switch (encoding) {
    case Encoding::f32:
    case Encoding::bf16:
    case Encoding::mxfp4:
    case Encoding::iq1_m:
      return {};
    case Encoding::q4_1:
    case Encoding::q5_1:
    case Encoding::q4_k:
    case Encoding::q5_k:
      return {0, 2};
    case Encoding::q2_k:
      return {end - 4, end - 2};
    case Encoding::q3_k:
    case Encoding::q6_k:
    case Encoding::tq1_0:
    case Encoding::tq2_0:
      return {end - 2};
    default:
      return {0};
  }
}

// A weight matrix of random blocks whose decoded values are of moderate size.
struct Matrix {
  Matrix(Encoding encoding, std::uint64_t rows, std::uint64_t columns, std::uint32_t seed)
      : bytes(rows * *encoding::row_bytes(encoding, columns)),
        view{.encoding = encoding, .rows = rows, .columns = columns, .bytes = bytes},
        decoded(rows * columns) {
    std::mt19937 random(seed);
    for (std::byte& byte : bytes) {
      byte = static_cast<std::byte>(random());
    }
    fix_scales(random);
    encoding::decode(encoding, bytes, decoded);
  }

  // Random halves are often huge or NaN: put small ones where a block has its scales.
  void fix_scales(std::mt19937& random) {
    const std::size_t block_bytes = encoding::info(view.encoding).block_bytes;
    std::uniform_real_distribution<float> scales(0.001F, 0.02F);
    for (std::size_t at = 0; at < bytes.size(); at += block_bytes) {
      for (const std::size_t place : half_places(view.encoding)) {
        const bool negative = place % 4 == 2 || view.encoding == Encoding::f16;
        put(at + place, encoding::f32_to_f16(negative ? -8 * scales(random) : scales(random)));
      }
      if (view.encoding == Encoding::mxfp4) {
        bytes[at] = static_cast<std::byte>(118 + random() % 6);
      } else if (view.encoding == Encoding::f32) {
        put(at, scales(random) - 0.01F);
      } else if (view.encoding == Encoding::bf16) {
        put(at, encoding::f32_to_bf16(scales(random) - 0.01F));
      } else if (view.encoding == Encoding::iq1_m) {
        // Its scale is spread over the top nibbles of four words.
        for (std::size_t i = 49; i < 56; i += 2) {
          bytes[at + i] = (bytes[at + i] & std::byte{0x0F}) | std::byte{0x20};
        }
      }
    }
  }

  template <class Value>
  void put(std::size_t place, Value value) {
    std::memcpy(&bytes[place], &value, sizeof(value));
  }

  std::vector<std::byte> bytes;
  encoding::WeightView view;
  std::vector<float> decoded;
};

struct alignas(64) Line {
  std::byte bytes[64];
};

struct Packed {
  explicit Packed(const encoding::WeightView& view)
      : lines(*packed_bytes(view.encoding, view.rows, view.columns) / sizeof(Line) + 1),
        matrix{view.encoding, view.rows, view.columns, lines[0].bytes} {
    const Status status = pack_panels(view, 0, panel_count(view.rows), lines[0].bytes);
    EXPECT_TRUE(status.ok());
  }
  std::vector<Line> lines;
  PackedMatrix matrix;
};

[[maybe_unused]] std::vector<float> random_floats(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) {
    value = normal(random);
  }
  return values;
}

[[maybe_unused]] std::vector<ActivationBlock> quantize(Isa isa, const std::vector<float>& input) {
  std::vector<ActivationBlock> blocks(input.size() / kActivationBlock);
  linear_kernels(isa).quantize_row(
      {.input = input.data(), .columns = input.size(), .blocks = blocks.data()});
  return blocks;
}

[[maybe_unused]] std::vector<float> dequantized(const std::vector<ActivationBlock>& blocks) {
  std::vector<float> values;
  for (const ActivationBlock& block : blocks) {
    for (const std::int8_t code : block.codes) {
      values.push_back(block.scale * static_cast<float>(code));
    }
  }
  return values;
}

// In double: [activation rows][matrix rows], and the sum of the terms' magnitudes.
struct Reference {
  Reference(const std::vector<float>& weights, const std::vector<float>& inputs,
            std::size_t columns)
      : stride(weights.size() / columns) {
    for (std::size_t m = 0; m < inputs.size() / columns; ++m) {
      for (std::size_t n = 0; n < stride; ++n) {
        double sum = 0;
        double size = 0;
        for (std::size_t k = 0; k < columns; ++k) {
          const double term = static_cast<double>(weights[n * columns + k]) *
                              static_cast<double>(inputs[m * columns + k]);
          sum += term;
          size += std::fabs(term);
        }
        values.push_back(sum);
        sizes.push_back(size);
      }
    }
  }

  // The largest |error| in units of the terms' magnitudes.
  double largest_error(const std::vector<float>& outputs) const {
    double largest = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double error = std::fabs(static_cast<double>(outputs[i]) - values[i]);
      largest = std::max(largest, error / (sizes[i] + 1e-30));
      if (!(error <= std::numeric_limits<double>::max())) {
        return error;
      }
    }
    return largest;
  }

  // Mean square of the error over mean square of the values.
  double nmse(const std::vector<float>& outputs) const {
    double error = 0;
    double power = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double difference = static_cast<double>(outputs[i]) - values[i];
      error += difference * difference;
      power += values[i] * values[i];
    }
    return error / power;
  }

  std::size_t stride;
  std::vector<double> values;
  std::vector<double> sizes;
};

[[maybe_unused]] std::vector<float> multiply(Isa isa, const PackedMatrix& matrix,
                                             const std::vector<ActivationBlock>& activations,
                                             std::size_t rows) {
  std::vector<float> output(rows * matrix.rows, kUntouched);
  linear_kernels(isa).multiply_packed({.matrix = matrix,
                                       .first_panel = 0,
                                       .end_panel = panel_count(matrix.rows),
                                       .activations = activations.data(),
                                       .activation_rows = rows,
                                       .output = {.values = output.data(), .stride = matrix.rows}});
  return output;
}

[[maybe_unused]] std::size_t block_columns(Encoding encoding) {
  return encoding::info(encoding).block_elements;
}

[[maybe_unused]] std::string title(Isa isa, Encoding encoding) {
  return std::string(name(isa)) + " " + std::string(encoding::info(encoding).name);
}

// f32 rounding of a sum of a few hundred terms, in units of their magnitudes.
constexpr double kRounding = 2e-6;
// Symmetric int8 activations: a uniform error of up to half a step of max / 127.
constexpr double kQuantizedNmse = 2e-4;

}  // namespace
}  // namespace zllm::kernel::cpu
