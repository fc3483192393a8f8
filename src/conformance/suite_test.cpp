#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include <zllm/conformance/attention_data.h>
#include <zllm/conformance/suite.h>

namespace zllm::conformance {
namespace {

using backend::Op;
using encoding::Encoding;
using testing::HasSubstr;

std::string refusal(std::string_view text) {
  const auto file = parse_case_file(text, "cases.json");
  return file.ok() ? "" : file.error().message;
}

TEST(CaseFiles, CoverEveryOperationAndEncoding) {
  const auto files = built_in_cases();
  ASSERT_TRUE(files.ok()) << files.error().message;
  std::set<std::pair<Op, Encoding>> covered;
  for (const CaseFile& file : *files) {
    EXPECT_EQ(file.name, std::string(backend::name(file.op)) + ".json");
    for (const Case& one : file.cases) {
      covered.emplace(one.op, one.encoding);
    }
  }
  for (std::size_t i = 0; i < backend::kOpCount; ++i) {
    const auto op = static_cast<Op>(i);
    EXPECT_TRUE(covered.contains({op, Encoding::f32})) << backend::name(op);
    for (std::size_t e = 0; e < encoding::kEncodingCount; ++e) {
      const auto encoding = static_cast<Encoding>(e);
      if (encoding::info(encoding).is_weight &&
          (op == Op::embed || op == Op::linear || op == Op::latent_up || op == Op::experts)) {
        EXPECT_TRUE(covered.contains({op, encoding}))
            << backend::name(op) << " in " << encoding::info(encoding).name;
      }
    }
  }
}

TEST(CaseFiles, AreRefusedByName) {
  EXPECT_THAT(refusal(R"({"operator": "linaer", "cases": [{}]})"),
              HasSubstr("unknown operator 'linaer'"));
  EXPECT_THAT(refusal(R"({"operator": "norm", "cases": [{"columns": 1, "rows": 1, "row": 1}]})"),
              HasSubstr("cases.json: case 0: unknown key 'row'"));
  EXPECT_THAT(refusal(R"({"operator": "norm", "cases": [{"columns": 1}]})"),
              HasSubstr("'rows' is missing"));
  EXPECT_THAT(refusal(R"({"operator": "norm", "cases": [{"columns": 0, "rows": 1}]})"),
              HasSubstr("'columns' must be a number from 1 to"));
  EXPECT_THAT(refusal(R"({"operator": "embed", "cases": [{"columns": 33, "vocabulary": 2,
                          "rows": 1, "encoding": "Q8_0"}]})"),
              HasSubstr("whose blocks do not divide 33 columns"));
  EXPECT_THAT(refusal(R"({"operator": "paged_gqa", "cases": [{"query_heads": 3, "kv_heads": 2,
                          "head": 8, "segments": [{"rows": 1}], "encoding": "F32"}]})"),
              HasSubstr("'query_heads' is refused"));
  EXPECT_THAT(refusal(R"({"operator": "norm", "cases": [], "more": 1})"), HasSubstr("'cases'"));
  EXPECT_THAT(refusal(R"({"operator": "norm", "cases": [)"), HasSubstr("cases.json"));
}

TEST(CaseFiles, HaveOneHashForOneMeaning) {
  const std::string_view text = R"({"operator":"norm","cases":[{"columns":1,"rows":1}]})";
  const std::string_view spread = R"({ "operator": "norm",
    "cases": [ {"columns": 1, "rows": 1} ] })";
  const std::string_view other = R"({"operator":"norm","cases":[{"columns":1,"rows":2}]})";
  const auto hash = [](std::string_view from) { return parse_case_file(from, "")->hash; };
  EXPECT_EQ(hash(text), hash(spread));
  EXPECT_NE(hash(text), hash(other));
}

TEST(Compare, MeasuresAndRefusesNumbers) {
  const std::vector<float> expected = {3.0F, 4.0F};
  EXPECT_EQ(compare(expected, expected)->nmse, 0.0);
  const std::vector<float> results = {3.0F, 4.5F};
  EXPECT_DOUBLE_EQ(compare(results, expected)->nmse, 0.01);
  EXPECT_DOUBLE_EQ(compare(results, expected)->maximum, 0.5 / std::sqrt(12.5));
  EXPECT_FALSE(compare(std::vector<float>{3.0F, NAN}, expected).ok());
  EXPECT_FALSE((Bound{.nmse = 1.0, .maximum = 1.0}).holds({.nmse = NAN, .maximum = 0.0}));
}

// Selections of the only measured row of a case of four positions.
class SelectionCompare : public testing::Test {
 protected:
  SelectionCompare() {
    data_.rows.push_back(
        {.scores = {1.0F, 3.0F, 2.0F, 2.000003F}, .keep = 2, .tail_begin = 4, .tail_end = 4});
  }
  Result<Deviation> compare_row(const std::vector<std::uint32_t>& positions) {
    attention::sparse::Selection selection;
    selection.append_row(positions);
    return compare(selection, data_);
  }

  SelectionData data_{.sequences = Sequences({}),
                      .queries = {},
                      .keys = {},
                      .weights = {},
                      .gates = {},
                      .position_bias = {},
                      .rows = {}};
};

TEST_F(SelectionCompare, NearTiesMaySwap) {
  EXPECT_EQ(compare_row({1, 3})->maximum, 0.0);
  const auto swapped = compare_row({1, 2});
  EXPECT_GT(swapped->maximum, 0.0);
  EXPECT_TRUE(bound(Op::select_keys, Encoding::f32).holds(*swapped));
  EXPECT_FALSE(bound(Op::select_keys, Encoding::f32).holds(*compare_row({0, 1})));
  data_.is_exact = true;
  EXPECT_FALSE(compare_row({1, 2}).ok());
}

TEST_F(SelectionCompare, WhatNoRoundingExplainsIsAnError) {
  EXPECT_FALSE(compare_row({1}).ok());
  EXPECT_FALSE(compare_row({1, 2, 3}).ok());
  EXPECT_FALSE(compare_row({1, 4}).ok());
  data_.pool = 2;
  data_.rows.front() = {.scores = {1.0F, 2.0F}, .keep = 1, .tail_begin = 4, .tail_end = 5};
  EXPECT_EQ(compare_row({2, 3, 4})->maximum, 0.0);
  EXPECT_FALSE(compare_row({2, 3}).ok());
  EXPECT_FALSE(compare_row({1, 2, 4}).ok());
  EXPECT_FALSE(compare_row({2, 4}).ok());
}

}  // namespace
}  // namespace zllm::conformance
