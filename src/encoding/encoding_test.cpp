#include <zllm/encoding/encoding.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <set>
#include <string>

#include <zllm/encoding/every_format.h>

namespace zllm::encoding {
namespace {

Encoding encoding_at(std::size_t index) { return static_cast<Encoding>(index); }

TEST(Encoding, EveryNameIsUniqueAndFindsItsEncoding) {
  std::set<std::string_view> names;
  for (std::size_t index = 0; index < kEncodingCount; ++index) {
    const std::string_view name = info(encoding_at(index)).name;
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(encoding_named(name), encoding_at(index)) << name;
  }
  EXPECT_EQ(encoding_named("q4_k"), std::nullopt);
  EXPECT_EQ(encoding_named(""), std::nullopt);
}

TEST(Encoding, InfoHasTheSizesOfTheFormats) {
  std::size_t weights = 0;
  std::apply(
      [&](auto... formats) {
        const auto check = [&](auto format) {
          using Format = decltype(format);
          const EncodingInfo& found = info(Format::kEncoding);
          EXPECT_EQ(found.block_bytes, sizeof(typename Format::Block)) << found.name;
          EXPECT_EQ(found.block_elements, Format::kBlockElements) << found.name;
          EXPECT_TRUE(found.is_weight) << found.name;
          ++weights;
        };
        (check(formats), ...);
      },
      EveryFormat{});
  std::size_t said = 0;
  for (std::size_t index = 0; index < kEncodingCount; ++index) {
    said += info(encoding_at(index)).is_weight ? 1u : 0u;
  }
  EXPECT_EQ(said, weights);
}

TEST(Encoding, PlainTypesHaveTheirWidth) {
  EXPECT_EQ(info(Encoding::f64).block_bytes, 8u);
  EXPECT_EQ(info(Encoding::i32).block_bytes, 4u);
  EXPECT_EQ(info(Encoding::u16).block_bytes, 2u);
  EXPECT_EQ(info(Encoding::f8_e4m3).block_bytes, 1u);
  EXPECT_EQ(info(Encoding::boolean).block_bytes, 1u);
  EXPECT_FALSE(info(Encoding::i32).is_weight);
}

TEST(RowBytes, CountsWholeBlocks) {
  EXPECT_EQ(row_bytes(Encoding::q4_k, 512), 288u);
  EXPECT_EQ(row_bytes(Encoding::q4_0, 96), 54u);
  EXPECT_EQ(row_bytes(Encoding::bf16, 7), 14u);
  EXPECT_EQ(row_bytes(Encoding::q6_k, 0), 0u);
}

TEST(RowBytes, IsNothingForAPartOfABlock) {
  EXPECT_EQ(row_bytes(Encoding::q4_k, 255), std::nullopt);
  EXPECT_EQ(row_bytes(Encoding::q4_k, 32), std::nullopt);
  EXPECT_EQ(row_bytes(Encoding::mxfp4, 33), std::nullopt);
}

TEST(RowBytes, IsNothingOnOverflow) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(row_bytes(Encoding::u8, kMost), kMost);
  EXPECT_EQ(row_bytes(Encoding::f16, kMost / 2), kMost - 1);
  EXPECT_EQ(row_bytes(Encoding::f16, kMost / 2 + 1), std::nullopt);
  EXPECT_EQ(row_bytes(Encoding::f64, kMost), std::nullopt);
  EXPECT_EQ(row_bytes(Encoding::q8_0, kMost - 31), std::nullopt);
  EXPECT_EQ(row_bytes(Encoding::q4_k, kMost - 255), (kMost - 255) / 256 * 144);
}

TEST(DecodeDeathTest, RefusesBlocksOfAnotherSizeAndIntegers) {
  std::byte bytes[18] = {};
  float elements[32] = {};
  EXPECT_DEATH(decode(Encoding::q4_0, std::span(bytes).first(17), elements), "the elements");
  EXPECT_DEATH(decode(Encoding::q4_0, bytes, std::span(elements).first(16)), "the elements");
  EXPECT_DEATH(decode(Encoding::i8, std::span(bytes).first(16), std::span(elements).first(16)),
               "no decode");
}

TEST(Decode, NothingGivesNothing) { decode(Encoding::q4_k, {}, {}); }

}  // namespace
}  // namespace zllm::encoding
