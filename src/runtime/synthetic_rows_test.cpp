#include <zllm/runtime/synthetic_rows.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <vector>

namespace zllm::runtime {
namespace {

constexpr std::size_t kTile = 8;  // bytes of the pages of kTileRows rows: two floats
constexpr std::byte kSlot{0x5a};

// Pages of floats 1, 2, ... and a slot of three bytes.
SequenceSnapshot snapshot(std::uint64_t tiles) {
  SequenceSnapshot made{.rows = tiles * kTileRows, .expected_rows = 7, .bytes = {}};
  std::vector<float> values;
  for (std::size_t i = 0; i < tiles * kTile / sizeof(float); ++i) {
    values.push_back(static_cast<float>(i + 1));
  }
  made.bytes.resize(tiles * kTile);
  std::memcpy(made.bytes.data(), values.data(), made.bytes.size());
  made.bytes.resize(made.bytes.size() + 3, kSlot);
  return made;
}

TEST(SyntheticRows, RepeatsPagesAndKeepsTheSlot) {
  const auto tiled = tile_rows(snapshot(1), snapshot(2), 5 * kTileRows);
  ASSERT_TRUE(tiled.ok());
  EXPECT_EQ(tiled->rows, 5 * kTileRows);
  EXPECT_EQ(tiled->expected_rows, 7U);
  ASSERT_EQ(tiled->bytes.size(), 5 * kTile + 3);
  EXPECT_EQ(tiled->bytes.back(), kSlot);
  std::vector<float> values(5 * kTile / sizeof(float));
  std::memcpy(values.data(), tiled->bytes.data(), 5 * kTile);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto source = static_cast<float>(i % 4 + 1);
    // The first two tiles are as they were; of the others the exponents.
    EXPECT_TRUE(i < 4 ? values[i] == source : values[i] != source) << i;
    EXPECT_EQ(std::ilogb(values[i]), std::ilogb(source)) << i;
  }
  EXPECT_NE(values[4], values[8]);
}

TEST(SyntheticRows, CutsToOneTile) {
  const auto tiled = tile_rows(snapshot(1), snapshot(2), kTileRows);
  ASSERT_TRUE(tiled.ok());
  EXPECT_EQ(tiled->bytes, snapshot(1).bytes);
}

}  // namespace
}  // namespace zllm::runtime
