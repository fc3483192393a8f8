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
#include <zllm/kernel/cpu/decoded_product.h>
#include <zllm/kernel/cpu/dispatch/linear_dispatch.h>
#include <zllm/kernel/cpu/packed_matrix.h>

namespace zllm::kernel::cpu {
namespace {

using encoding::Encoding;

constexpr float kUntouched = 123.5F;

std::vector<Isa> present() {
  std::vector<Isa> all = {Isa::scalar};
  for (const Isa isa : {Isa::avx2, Isa::avx512}) {
    if (best_isa(cpu_features(), isa) == isa) {
      all.push_back(isa);
    }
  }
  return all;
}

std::vector<Encoding> encodings(bool (*wanted)(Encoding)) {
  std::vector<Encoding> all;
  for (std::size_t i = 0; i < encoding::kEncodingCount; ++i) {
    if (wanted(static_cast<Encoding>(i))) {
      all.push_back(static_cast<Encoding>(i));
    }
  }
  return all;
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
    const auto put = [&](std::size_t place, float sign) {
      const std::uint16_t half = encoding::f32_to_f16(sign * scales(random));
      std::memcpy(&bytes[place], &half, sizeof(half));
    };
    for (std::size_t at = 0; at < bytes.size(); at += block_bytes) {
      switch (view.encoding) {
        case Encoding::q4_1:
        case Encoding::q5_1:
        case Encoding::q4_k:
        case Encoding::q5_k:
          put(at + 2, view.encoding == Encoding::q4_1 ? -8 : 1);
          [[fallthrough]];
        case Encoding::q4_0:
        case Encoding::q5_0:
        case Encoding::q8_0:
        case Encoding::iq4_nl:
        case Encoding::iq4_xs:
          put(at, 1);
          break;
        case Encoding::q2_k:
          put(at + block_bytes - 4, 1);
          put(at + block_bytes - 2, 1);
          break;
        case Encoding::q3_k:
        case Encoding::q6_k:
          put(at + block_bytes - 2, 1);
          break;
        case Encoding::mxfp4:
          bytes[at] = static_cast<std::byte>(118 + random() % 6);
          break;
        case Encoding::f32: {
          const float value = scales(random);
          std::memcpy(&bytes[at], &value, sizeof(value));
          break;
        }
        case Encoding::f16:
          put(at, random() % 2 == 0 ? -1.0F : 1.0F);
          break;
        case Encoding::bf16: {
          const std::uint16_t bits = encoding::f32_to_bf16(0.5F - scales(random) * 40);
          std::memcpy(&bytes[at], &bits, sizeof(bits));
          break;
        }
        case Encoding::iq1_m:  // its scale is spread over the top nibbles of four words
          for (std::size_t i = 49; i < 56; i += 2) {
            bytes[at + i] = (bytes[at + i] & std::byte{0x0F}) | std::byte{0x20};
          }
          break;
        case Encoding::tq1_0:
        case Encoding::tq2_0:
          put(at + block_bytes - 2, 1);
          break;
        default:
          put(at, 1);
          break;
      }
    }
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

std::vector<float> random_floats(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) {
    value = normal(random);
  }
  return values;
}

std::vector<ActivationBlock> quantize(Isa isa, const std::vector<float>& input) {
  std::vector<ActivationBlock> blocks(input.size() / kActivationBlock);
  linear_kernels(isa).quantize_row(
      {.input = input.data(), .columns = input.size(), .blocks = blocks.data()});
  return blocks;
}

std::vector<float> dequantized(const std::vector<ActivationBlock>& blocks) {
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

std::vector<float> multiply(Isa isa, const PackedMatrix& matrix,
                            const std::vector<ActivationBlock>& activations, std::size_t rows) {
  std::vector<float> output(rows * matrix.rows, kUntouched);
  linear_kernels(isa).multiply_packed({.matrix = matrix,
                                       .first_panel = 0,
                                       .end_panel = panel_count(matrix.rows),
                                       .activations = activations.data(),
                                       .activation_rows = rows,
                                       .output = {.values = output.data(), .stride = matrix.rows}});
  return output;
}

std::size_t block_columns(Encoding encoding) { return encoding::info(encoding).block_elements; }

std::string title(Isa isa, Encoding encoding) {
  return std::string(name(isa)) + " " + std::string(encoding::info(encoding).name);
}

// f32 rounding of a sum of a few hundred terms, in units of their magnitudes.
constexpr double kRounding = 2e-6;
// Symmetric int8 activations: a uniform error of up to half a step of max / 127.
constexpr double kQuantizedNmse = 2e-4;

TEST(PackedProduct, EqualsTheReferenceOfTheQuantisedActivations) {
  std::uint32_t seed = 1;
  for (const Encoding encoding : encodings(packable)) {
    for (const std::uint64_t rows : {1U, 15U, 16U, 17U, 100U}) {
      for (const std::size_t blocks : {1U, 3U}) {
        const Matrix weights(encoding, rows, blocks * block_columns(encoding), ++seed);
        const Packed packed(weights.view);
        const std::size_t count = rows == 17 ? 9 : 2;
        const auto inputs = random_floats(count * weights.view.columns, ++seed);
        const auto activations = quantize(Isa::scalar, inputs);
        const Reference reference(weights.decoded, dequantized(activations), weights.view.columns);
        for (const Isa isa : present()) {
          const auto output = multiply(isa, packed.matrix, activations, count);
          EXPECT_LT(reference.largest_error(output), kRounding)
              << title(isa, encoding) << ", " << rows << " rows, " << blocks << " blocks";
        }
      }
    }
  }
}

TEST(PackedProduct, IsNearTheReferenceOfTheActivations) {
  std::uint32_t seed = 1000;
  for (const Encoding encoding : encodings(packable)) {
    const Matrix weights(encoding, 64, 512, ++seed);
    const Packed packed(weights.view);
    const auto inputs = random_floats(4 * 512, ++seed);
    const Reference reference(weights.decoded, inputs, 512);
    for (const Isa isa : present()) {
      const auto output = multiply(isa, packed.matrix, quantize(isa, inputs), 4);
      EXPECT_LT(reference.nmse(output), kQuantizedNmse) << title(isa, encoding);
    }
  }
}

TEST(PackedProduct, ARowHasTheSameBitsInEveryCompany) {
  std::uint32_t seed = 2000;
  for (const Encoding encoding : encodings(packable)) {
    const Matrix weights(encoding, 33, 2 * block_columns(encoding), ++seed);
    const Packed packed(weights.view);
    const std::size_t columns = weights.view.columns;
    const auto inputs = random_floats(33 * columns, ++seed);
    for (const Isa isa : present()) {
      const auto activations = quantize(isa, inputs);
      std::vector<float> single;
      for (std::size_t row = 0; row < 33; ++row) {
        const auto begin =
            activations.begin() + static_cast<std::ptrdiff_t>(row * columns / kActivationBlock);
        const std::vector<ActivationBlock> one(
            begin, begin + static_cast<std::ptrdiff_t>(columns / kActivationBlock));
        const auto output = multiply(isa, packed.matrix, one, 1);
        single.insert(single.end(), output.begin(), output.end());
      }
      for (const std::size_t count : {2U, 3U, 4U, 5U, 7U, 8U, 9U, 15U, 33U}) {
        const auto output = multiply(isa, packed.matrix, activations, count);
        EXPECT_EQ(std::memcmp(output.data(), single.data(), output.size() * sizeof(float)), 0)
            << title(isa, encoding) << ", " << count << " rows";
      }
    }
  }
}

TEST(PackedProduct, RangesTouchTheirOwnOutputsOnly) {
  const Matrix weights(Encoding::q4_1, 50, 64, 5);
  const Packed packed(weights.view);
  const auto inputs = random_floats(std::size_t{3} * 64, 6);
  for (const Isa isa : present()) {
    const auto activations = quantize(isa, inputs);
    const auto whole = multiply(isa, packed.matrix, activations, 3);
    constexpr std::size_t kStride = 60;
    std::vector<float> output(3 * kStride, kUntouched);
    PackedProduct params = {.matrix = packed.matrix,
                            .first_panel = 2,
                            .end_panel = 4,
                            .activations = activations.data(),
                            .activation_rows = 3,
                            .output = {.values = output.data(), .stride = kStride}};
    linear_kernels(isa).multiply_packed(params);
    params.first_panel = 1;
    params.end_panel = 2;
    linear_kernels(isa).multiply_packed(params);
    for (std::size_t row = 0; row < 3; ++row) {
      for (std::size_t n = 0; n < kStride; ++n) {
        const bool inside = n >= 16 && n < 50;
        EXPECT_EQ(output[row * kStride + n], inside ? whole[row * 50 + n] : kUntouched);
      }
    }
  }
}

TEST(PackedProduct, AddsBiasAndAccumulates) {
  const Matrix weights(Encoding::q8_0, 19, 64, 5);
  const Packed packed(weights.view);
  const auto inputs = random_floats(std::size_t{2} * 64, 6);
  const auto bias = random_floats(19, 7);
  for (const Isa isa : present()) {
    const auto activations = quantize(isa, inputs);
    const auto product = multiply(isa, packed.matrix, activations, 2);
    std::vector<float> output = random_floats(std::size_t{2} * 19, 8);
    const auto before = output;
    linear_kernels(isa).multiply_packed(
        {.matrix = packed.matrix,
         .first_panel = 0,
         .end_panel = 2,
         .activations = activations.data(),
         .activation_rows = 2,
         .output = {
             .values = output.data(), .stride = 19, .bias = bias.data(), .accumulate = true}});
    for (std::size_t i = 0; i < output.size(); ++i) {
      EXPECT_EQ(output[i], before[i] + (product[i] + bias[i % 19]));
    }
  }
}

TEST(PackedProduct, ShowsActivationsThatAreNotFinite) {
  for (const Encoding encoding : encodings(packable)) {
    const Matrix weights(encoding, 16, block_columns(encoding), 3);
    const Packed packed(weights.view);
    auto inputs = random_floats(weights.view.columns, 4);
    inputs[5] = std::nanf("");
    for (const Isa isa : present()) {
      for (const float value : multiply(isa, packed.matrix, quantize(isa, inputs), 1)) {
        EXPECT_TRUE(std::isnan(value)) << title(isa, encoding);
      }
    }
  }
}

bool is_plain(Encoding encoding) {
  return encoding == Encoding::f32 || encoding == Encoding::f16 || encoding == Encoding::bf16;
}

bool is_weight(Encoding encoding) { return encoding::info(encoding).is_weight; }

std::vector<float> multiply_plain(Isa isa, const encoding::WeightView& view,
                                  const std::vector<float>& inputs, std::size_t rows) {
  std::vector<float> output(rows * view.rows, kUntouched);
  linear_kernels(isa).multiply_plain({.encoding = view.encoding,
                                      .weights = view.bytes.data(),
                                      .columns = view.columns,
                                      .first_row = 0,
                                      .end_row = view.rows,
                                      .activations = inputs.data(),
                                      .activation_rows = rows,
                                      .activation_stride = view.columns,
                                      .output = {.values = output.data(), .stride = view.rows}});
  return output;
}

TEST(PlainProduct, EqualsTheReferenceAtAnyAddress) {
  std::uint32_t seed = 3000;
  for (const Encoding encoding : encodings(is_plain)) {
    for (const std::uint64_t rows : {1U, 3U, 4U, 17U}) {
      for (const std::size_t columns : {1U, 7U, 8U, 16U, 31U, 33U, 257U}) {
        const Matrix weights(encoding, rows, columns, ++seed);
        std::vector<std::byte> shifted(weights.bytes.size() + 1);
        std::memcpy(shifted.data() + 1, weights.bytes.data(), weights.bytes.size());
        encoding::WeightView view = weights.view;
        view.bytes = std::span<const std::byte>(shifted).subspan(1);
        const auto inputs = random_floats(5 * columns, ++seed);
        const Reference reference(weights.decoded, inputs, columns);
        for (const Isa isa : present()) {
          EXPECT_LT(reference.largest_error(multiply_plain(isa, view, inputs, 5)), kRounding)
              << title(isa, encoding) << ", " << rows << " x " << columns;
        }
      }
    }
  }
}

TEST(PlainProduct, ARowHasTheSameBitsInEveryCompany) {
  constexpr std::size_t kColumns = 77;
  const auto inputs = random_floats(33 * kColumns, 1);
  for (const Encoding encoding : encodings(is_plain)) {
    const Matrix weights(encoding, 11, kColumns, 2);
    for (const Isa isa : present()) {
      std::vector<float> single;
      for (std::size_t row = 0; row < 33; ++row) {
        const auto begin = inputs.begin() + static_cast<std::ptrdiff_t>(row * kColumns);
        const auto output = multiply_plain(isa, weights.view, {begin, begin + kColumns}, 1);
        single.insert(single.end(), output.begin(), output.end());
      }
      for (const std::size_t count : {2U, 3U, 4U, 5U, 7U, 8U, 9U, 33U}) {
        const auto output = multiply_plain(isa, weights.view, inputs, count);
        EXPECT_EQ(std::memcmp(output.data(), single.data(), output.size() * sizeof(float)), 0)
            << title(isa, encoding) << ", " << count << " rows";
      }
    }
  }
}

TEST(PlainProduct, RangesHaveTheSameBits) {
  const Matrix weights(Encoding::f16, 13, 40, 2);
  const auto inputs = random_floats(std::size_t{6} * 40, 1);
  for (const Isa isa : present()) {
    const auto whole = multiply_plain(isa, weights.view, inputs, 6);
    std::vector<float> output(std::size_t{6} * 13, kUntouched);
    for (const auto& [first, end] : {std::pair{0U, 3U}, {3U, 4U}, {4U, 13U}}) {
      linear_kernels(isa).multiply_plain({.encoding = Encoding::f16,
                                          .weights = weights.bytes.data(),
                                          .columns = 40,
                                          .first_row = first,
                                          .end_row = end,
                                          .activations = inputs.data(),
                                          .activation_rows = 6,
                                          .activation_stride = 40,
                                          .output = {.values = output.data(), .stride = 13}});
    }
    EXPECT_EQ(output, whole) << name(isa);
  }
}

TEST(DecodedProduct, HasTheBitsOfTheDecodedMatrix) {
  std::uint32_t seed = 4000;
  for (const Encoding encoding : encodings(is_weight)) {
    const std::size_t columns = block_columns(encoding) == 1 ? 39 : block_columns(encoding);
    const Matrix weights(encoding, 11, columns, ++seed);
    const auto inputs = random_floats(5 * columns, ++seed);
    const auto bias = random_floats(11, ++seed);
    for (const Isa isa : present()) {
      const encoding::WeightView plain = {
          .encoding = Encoding::f32,
          .rows = 11,
          .columns = columns,
          .bytes = std::as_bytes(std::span<const float>(weights.decoded))};
      auto expected = multiply_plain(isa, plain, inputs, 5);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        expected[i] += bias[i % 11];
      }
      std::vector<float> scratch(kDecodedRows * columns);
      std::vector<float> output(std::size_t{5} * 11);
      multiply_decoded(linear_kernels(isa),
                       {.matrix = weights.view,
                        .first_row = 0,
                        .end_row = 11,
                        .activations = inputs.data(),
                        .activation_rows = 5,
                        .activation_stride = columns,
                        .scratch = scratch.data(),
                        .output = {.values = output.data(), .stride = 11, .bias = bias.data()}});
      EXPECT_EQ(output, expected) << title(isa, encoding);
    }
  }
}

TEST(PackedMatrix, UnpacksTheReferenceDecode) {
  for (const Encoding encoding : encodings(packable)) {
    const Matrix weights(encoding, 37, 2 * block_columns(encoding), 9);
    const Packed packed(weights.view);
    const std::size_t columns = weights.view.columns;
    std::vector<float> elements(columns);
    for (std::uint64_t row = 0; row < 37; ++row) {
      unpack_row(packed.matrix, row, elements.data());
      for (std::size_t k = 0; k < columns; ++k) {
        ASSERT_EQ(elements[k], weights.decoded[row * columns + k])
            << encoding::info(encoding).name << " row " << row << " column " << k;
      }
    }
  }
}

TEST(PackedMatrix, RefusesScalesThatAreNotFinite) {
  struct Case {
    Encoding encoding;
    std::size_t place;  // of a half in the block
  };
  const Case cases[] = {{Encoding::q4_0, 0},   {Encoding::q4_1, 0},   {Encoding::q4_1, 2},
                        {Encoding::q5_0, 0},   {Encoding::q5_1, 2},   {Encoding::q8_0, 0},
                        {Encoding::iq4_nl, 0}, {Encoding::iq4_xs, 0}, {Encoding::q4_k, 0},
                        {Encoding::q4_k, 2},   {Encoding::q5_k, 2},   {Encoding::q6_k, 208},
                        {Encoding::q3_k, 108}, {Encoding::q2_k, 80},  {Encoding::q2_k, 82}};
  for (const Case& bad : cases) {
    for (const unsigned bits : {0x7C00U, 0xFC00U, 0x7E01U}) {
      const auto half = static_cast<std::uint16_t>(bits);
      Matrix weights(bad.encoding, 18, 2 * block_columns(bad.encoding), 9);
      const std::size_t block = encoding::info(bad.encoding).block_bytes;
      std::memcpy(&weights.bytes[(17 * 2 + 1) * block + bad.place], &half, sizeof(half));
      std::vector<Line> lines(*packed_bytes(bad.encoding, 18, weights.view.columns) / sizeof(Line) +
                              1);
      EXPECT_TRUE(pack_panels(weights.view, 0, 1, lines[0].bytes).ok());
      const Status status = pack_panels(weights.view, 1, 2, lines[0].bytes);
      ASSERT_FALSE(status.ok()) << encoding::info(bad.encoding).name << " " << bad.place;
      EXPECT_EQ(status.error().code, Code::invalid_file);
      EXPECT_NE(status.error().message.find("row 17"), std::string::npos);
    }
  }
}

TEST(PackedMatrix, SizesAreChecked) {
  EXPECT_EQ(packed_bytes(Encoding::q4_0, 17, 64), 2U * 2U * 288U);
  EXPECT_EQ(packed_bytes(Encoding::q4_0, 17, 65), std::nullopt);
  EXPECT_EQ(packed_bytes(Encoding::f16, 16, 64), std::nullopt);
  EXPECT_EQ(packed_bytes(Encoding::q8_0, ~std::uint64_t{0}, 1U << 20U), std::nullopt);
  // Packing costs at most four percent of the stored size.
  for (const Encoding encoding : encodings(packable)) {
    const auto stored = 16 * *encoding::row_bytes(encoding, 4096);
    EXPECT_LE(*packed_bytes(encoding, 16, 4096) * 100, stored * 104)
        << encoding::info(encoding).name;
  }
}

}  // namespace
}  // namespace zllm::kernel::cpu
