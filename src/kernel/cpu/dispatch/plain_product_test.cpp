#include <cstring>
#include <span>
#include <utility>

#include <gtest/gtest.h>

#include <zllm/kernel/cpu/decoded_product.h>
#include <zllm/kernel/cpu/dispatch/product_fixture-inl.h>

namespace zllm::kernel::cpu {
namespace {

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

}  // namespace
}  // namespace zllm::kernel::cpu
