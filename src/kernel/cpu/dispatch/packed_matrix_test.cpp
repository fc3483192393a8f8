#include <cstring>

#include <gtest/gtest.h>

#include <zllm/kernel/cpu/dispatch/product_fixture-inl.h>

namespace zllm::kernel::cpu {
namespace {

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
