#include <zllm/attention/sparse/selection.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace zllm::attention::sparse {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint32_t kLast = std::numeric_limits<std::uint32_t>::max();

Selection selection(const std::vector<std::vector<std::uint32_t>>& rows) {
  Selection result;
  for (const auto& row : rows) {
    result.append_row(row);
  }
  return result;
}

std::vector<std::byte> bytes(const std::vector<int>& values) {
  std::vector<std::byte> result;
  for (const int value : values) {
    result.push_back(static_cast<std::byte>(value));
  }
  return result;
}

std::string refusal(std::span<const std::byte> form) {
  const auto read = Selection::from_bytes(form);
  return read.ok() ? "read" : read.error().message;
}

TEST(Selection, RowsKeepTheirPositions) {
  Selection s = selection({{0, 2, 7}, {}, {5}});
  ASSERT_EQ(s.rows(), 3u);
  EXPECT_THAT(s.row(0), ElementsAre(0, 2, 7));
  EXPECT_TRUE(s.row(1).empty());
  EXPECT_THAT(s.row(2), ElementsAre(5));
  s.clear();
  EXPECT_EQ(s, Selection());
  s.append_row(std::vector<std::uint32_t>{4});
  EXPECT_THAT(s.row(0), ElementsAre(4));
}

TEST(Selection, EqualityIsByRow) {
  EXPECT_EQ(selection({{1, 2}, {3}}), selection({{1, 2}, {3}}));
  EXPECT_NE(selection({{1, 2}, {3}}), selection({{1}, {2, 3}}));
  EXPECT_NE(selection({{1}}), selection({{1}, {}}));
}

TEST(SelectionDeath, RowsThatDoNotAscendAreNotTaken) {
  Selection s;
  EXPECT_DEATH(s.append_row(std::vector<std::uint32_t>{1, 1}), "ascending");
  EXPECT_DEATH(s.append_row(std::vector<std::uint32_t>{2, 1}), "ascending");
}

TEST(Selection, BytesAreLittleEndian) {
  const auto form = bytes({2,    0,    0,    0,   0, 0, 0, 0,  // rows
                           1,    0,    0,    0,   0, 0, 0, 0,  // positions of row 0
                           0,    0,    0,    0,   0, 0, 0, 0,  // of row 1
                           0x04, 0x03, 0x02, 0x01});           // the position
  EXPECT_EQ(selection({{0x01020304}, {}}).to_bytes(), form);
  EXPECT_EQ(Selection::from_bytes(form).value(), selection({{0x01020304}, {}}));
}

TEST(Selection, BytesReadBack) {
  for (const Selection& s :
       {Selection(), selection({{}}), selection({{}, {}, {}}), selection({{0, kLast - 1, kLast}}),
        selection({{0, 2, 7}, {}, {5, 6}, {0}})}) {
    EXPECT_EQ(Selection::from_bytes(s.to_bytes()).value(), s);
  }
}

TEST(Selection, EveryTruncationAndExtensionIsRefused) {
  const auto whole = selection({{0, 2, 7}, {}, {5, 6}}).to_bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THAT(refusal(std::span(whole).first(size)), HasSubstr("truncated")) << size;
  }
  auto longer = whole;
  for (int i = 1; i < 9; ++i) {
    longer.push_back(std::byte{9});
    EXPECT_THAT(refusal(longer), HasSubstr("too long")) << i;
  }
  auto cut = whole;
  cut.resize(cut.size() - 4);
  EXPECT_THAT(refusal(cut), HasSubstr("row 2: truncated: 2 positions in 4 bytes"));
}

TEST(Selection, PositionsThatDoNotAscendAreRefusedByRow) {
  // positions of `{{1, 2}, {3, 9}}` begin after the row count and two counts
  const auto whole = selection({{1, 2}, {3, 9}}).to_bytes();
  auto equal = whole;
  equal[36] = std::byte{3};
  EXPECT_THAT(refusal(equal), HasSubstr("row 1: position 3 follows 3"));
  auto descending = whole;
  descending[24] = std::byte{8};
  EXPECT_THAT(refusal(descending), HasSubstr("row 0: position 2 follows 8"));
  // a row may begin below the end of the row before it
  EXPECT_TRUE(Selection::from_bytes(selection({{7}, {3}}).to_bytes()).ok());
}

TEST(Selection, HugeCountsAreRefusedBeforeAnythingIsReserved) {
  const std::vector<int> most(8, 0xff);
  EXPECT_THAT(refusal(bytes(most)), HasSubstr("18446744073709551615 rows in 0 bytes"));
  auto rows = selection({{1, 2}}).to_bytes();
  rows[7] = std::byte{0x20};  // 2^61 rows, whose counts alone would wrap to 8 bytes
  EXPECT_THAT(refusal(rows), HasSubstr("truncated"));
  for (std::size_t byte = 8; byte < 16; ++byte) {
    auto counts = selection({{1, 2}}).to_bytes();
    counts[byte] = std::byte{0x80};
    EXPECT_THAT(refusal(counts), HasSubstr("row 0: truncated")) << byte;
  }
  auto wrapping = selection({{1, 2}}).to_bytes();
  wrapping[15] = std::byte{0x40};  // 2^62 + 2 positions: four bytes each wrap to 8 bytes
  EXPECT_THAT(refusal(wrapping), HasSubstr("row 0: truncated"));
}

TEST(Selection, CheckVisibleNamesTheRow) {
  const Selection s = selection({{0, 4}, {}, {0, 5}});
  const auto check = [&s](std::vector<std::uint64_t> positions) {
    const Status status = check_visible(s, positions);
    return status.ok() ? std::string("ok") : status.error().message;
  };
  EXPECT_EQ(check({4, 0, 5}), "ok");
  EXPECT_EQ(check({4, 0, std::uint64_t{1} << 40}), "ok");
  EXPECT_THAT(check({4, 0, 4}), HasSubstr("row 2: position 5 is later than its query at 4"));
  EXPECT_THAT(check({3, 0, 4}), HasSubstr("row 0: position 4"));
  EXPECT_THAT(check({4, 0}), HasSubstr("3 rows for 2 query positions"));
  EXPECT_THAT(check({4, 0, 5, 6}), HasSubstr("3 rows for 4 query positions"));
  EXPECT_TRUE(check_visible(Selection(), {}).ok());
}

}  // namespace
}  // namespace zllm::attention::sparse
