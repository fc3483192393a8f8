#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include <zllm/kernel/cpu/dispatch/product_fixture-inl.h>

namespace zllm::kernel::cpu {
namespace {

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

}  // namespace
}  // namespace zllm::kernel::cpu
