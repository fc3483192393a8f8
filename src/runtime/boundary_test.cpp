#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <zllm/runtime/boundary.h>
#include <zllm/runtime/load.h>
#include <zllm/runtime/stage_input.h>

namespace zllm::runtime {
namespace {

using attention::sparse::Selection;

Selection selection_of(const std::vector<std::vector<std::uint32_t>>& rows) {
  Selection selection;
  for (const std::vector<std::uint32_t>& row : rows) {
    selection.append_row(row);
  }
  return selection;
}

// Three rows of two streams of two values.
Boundary sample() {
  return {
      .streams = 2,
      .hidden = 2,
      .values = {1, -2, 0.5F, 1e-40F, 5, 6, 7, 8, -0.0F, std::numeric_limits<float>::max(), 11, 12},
      .selection = selection_of({{0}, {0, 1}, {1, 2}})};
}

bool has(const Status& status, std::string_view text) {
  return !status.ok() && status.error().message.find(text) != std::string::npos;
}

std::string refusal(const std::vector<std::byte>& bytes) {
  const auto read = boundary_from_bytes(bytes);
  return read.ok() ? std::string() : read.error().message;
}

TEST(Boundary, ComesBackFromItsBytes) {
  const Boundary whole = sample();
  EXPECT_EQ(whole.rows(), 3u);
  EXPECT_EQ(*boundary_from_bytes(to_bytes(whole)), whole);
  Boundary plain = whole;
  plain.selection.reset();
  EXPECT_EQ(*boundary_from_bytes(to_bytes(plain)), plain);
  EXPECT_NE(to_bytes(plain), to_bytes(whole));
  // The values' bits travel, whatever they are.
  plain.values[0] = std::nanf("1");
  EXPECT_TRUE(std::isnan(boundary_from_bytes(to_bytes(plain))->values[0]));
}

TEST(Boundary, RefusesEveryTruncationAndAByteTooMany) {
  const std::vector<std::byte> bytes = to_bytes(sample());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_NE(refusal({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)}), "");
  }
  std::vector<std::byte> longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_NE(refusal(longer), "");
}

TEST(Boundary, RefusesContradictionsByName) {
  const std::vector<std::byte> bytes = to_bytes(sample());
  const auto with = [&](std::size_t offset, std::vector<int> values) {
    std::vector<std::byte> changed = bytes;
    for (std::size_t i = 0; i < values.size(); ++i) {
      changed[offset + i] = static_cast<std::byte>(values[i]);
    }
    return refusal(changed);
  };
  EXPECT_NE(with(0, {0}).find("magic"), std::string::npos);
  EXPECT_NE(with(4, {2}).find("version 2"), std::string::npos);
  EXPECT_NE(with(8, {0}).find("0 streams"), std::string::npos);
  EXPECT_NE(with(12, {0}).find("of 0 values"), std::string::npos);
  EXPECT_NE(with(12, {255, 255, 255, 255}), "");
  EXPECT_NE(with(16, {2}).find("2 rows"), std::string::npos);
  EXPECT_NE(with(16, {255, 255, 255, 255, 255, 255, 255, 255}), "");
  EXPECT_NE(with(24, {1}), "");
  // The whole size fits, the selection's rows do not.
  EXPECT_NE(with(8, {1, 0, 0, 0, 2, 0, 0, 0, 6}).find("selection of 3 rows"), std::string::npos);
}

TEST(Boundary, ChecksItself) {
  Boundary bad = sample();
  EXPECT_TRUE(check(bad).ok());
  bad.values.pop_back();
  EXPECT_TRUE(has(check(bad), "no whole rows"));
  bad = sample();
  bad.selection = selection_of({{0}});
  EXPECT_TRUE(has(check(bad), "selection of 1 rows"));
  EXPECT_FALSE(check(Boundary{}).ok());
}

TEST(StageRange, ResolvesAndRefuses) {
  EXPECT_EQ(*resolve({}, 6), (StageRange{.first = 0, .end = 6}));
  EXPECT_EQ(*resolve({.first = 2, .end = 0}, 6), (StageRange{.first = 2, .end = 6}));
  EXPECT_EQ(*resolve({.first = 2, .end = 3}, 6), (StageRange{.first = 2, .end = 3}));
  EXPECT_FALSE(resolve({.first = 2, .end = 2}, 6).ok());
  EXPECT_FALSE(resolve({.first = 6, .end = 0}, 6).ok());
  EXPECT_FALSE(resolve({.first = 0, .end = 7}, 6).ok());
  EXPECT_FALSE(resolve({}, 0).ok());
}

constexpr StageNeeds kNeeds{.first_layer = 3, .streams = 2, .hidden = 2, .selection = true};

// Rows 0 and 1 of one sequence, row 2 of another.
Round round_with(Boundary input) {
  Round round;
  round.segments = {{.sequence = SequenceId(1), .tokens = {4, 5}, .logit_rows = {}},
                    {.sequence = SequenceId(2),
                     .start = 2,
                     .kind = SegmentKind::decode,
                     .tokens = {6},
                     .logit_rows = {}}};
  round.input = std::move(input);
  return round;
}

TEST(StageInput, IsTakenExactlyWhereAStageNeedsIt) {
  EXPECT_TRUE(check_input(round_with(sample()), kNeeds).ok());
  Round without = round_with(sample());
  without.input.reset();
  EXPECT_TRUE(has(check_input(without, kNeeds), "layer 3"));
  const StageNeeds first{.first_layer = 0, .streams = 2, .hidden = 2};
  EXPECT_TRUE(check_input(without, first).ok());
  EXPECT_TRUE(has(check_input(round_with(sample()), first), "embedding"));
}

TEST(StageInput, RefusesEachWrongShapeByName) {
  const auto checked = [](const Boundary& input) { return check_input(round_with(input), kNeeds); };
  Boundary bad = sample();
  bad.streams = 1;
  EXPECT_TRUE(has(checked(bad), "1 streams of 2"));
  bad = sample();
  bad.values.resize(8);
  bad.selection = selection_of({{0}, {0, 1}});
  EXPECT_TRUE(has(checked(bad), "2 rows for a round of 3"));
  bad = sample();
  bad.values.pop_back();
  EXPECT_TRUE(has(checked(bad), "no whole rows"));
  bad = sample();
  bad.selection.reset();
  EXPECT_TRUE(has(checked(bad), "no selection"));
  StageNeeds plain = kNeeds;
  plain.selection = false;
  EXPECT_TRUE(check_input(round_with(bad), plain).ok());
  bad.selection = selection_of({{0}, {0, 2}, {1, 2}});
  EXPECT_TRUE(has(checked(bad), "row 1"));
  bad.selection = selection_of({{0}, {0, 1}, {}});
  EXPECT_TRUE(has(checked(bad), "row 2 keeps no position"));
}

}  // namespace
}  // namespace zllm::runtime
