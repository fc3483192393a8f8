#include <zllm/attention/sparse/indexer.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace zllm::attention::sparse {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
using Positions = std::vector<std::uint32_t>;

// One head, width 1: the score is weight * relu(query * key).
constexpr IndexerSpec kScalar{.heads = 1, .width = 1, .top_k = 2};

// Several heads with history, reproducible numbers and no symmetry.
struct Layer {
  IndexerSpec spec{.heads = 3, .width = 5, .top_k = 4, .score_scale = 0.4f, .weight_scale = 0.6f};
  std::size_t count = 13;
  std::vector<float> queries = wave(count * 15, 0.37f);
  std::vector<float> weights = wave(count * 3, 1.3f);
  std::vector<float> keys = wave(count * 5, 0.73f);
  std::vector<std::uint64_t> positions = first(count);

  static std::vector<float> wave(std::size_t size, float step) {
    std::vector<float> result(size);
    for (std::size_t i = 0; i < size; ++i) {
      result[i] = std::sin(static_cast<float>(i) * step + step) * 2.0f;
    }
    return result;
  }
  static std::vector<std::uint64_t> first(std::size_t size) {
    std::vector<std::uint64_t> result(size);
    std::iota(result.begin(), result.end(), std::uint64_t{0});
    return result;
  }
  IndexerInputs inputs() const { return {queries, weights, positions, keys}; }
  // Rows [begin, end) with the first `known` keys.
  IndexerInputs part(std::size_t begin, std::size_t end, std::size_t known) const {
    return {std::span(queries).subspan(begin * 15, (end - begin) * 15),
            std::span(weights).subspan(begin * 3, (end - begin) * 3),
            std::span(positions).subspan(begin, end - begin), std::span(keys).first(known * 5)};
  }
};

std::vector<float> scores(const IndexerSpec& spec, const IndexerInputs& inputs) {
  std::vector<float> result(inputs.query_positions.size() * (inputs.keys.size() / spec.width),
                            kNan);
  const Status status = index_scores(spec, inputs, result);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  return result;
}

// The numbers of exact small integers, so that sums do not depend on their order.
std::vector<float> integers(std::vector<float> values) {
  for (float& value : values) {
    value = std::round(value * 2.0f);
  }
  return values;
}

TEST(Indexer, ScoresByHand) {
  // weights -1 and 3, both scales: score_scale inside the relu, weight_scale outside
  const IndexerSpec spec{
      .heads = 2, .width = 2, .top_k = 1, .score_scale = 0.5f, .weight_scale = 2.0f};
  const std::vector<float> queries{1.0f, 2.0f, 3.0f, -1.0f};
  const std::vector<float> weights{-1.0f, 3.0f};
  const std::vector<float> keys{2.0f, 4.0f, 2.0f, 0.0f, -1.0f, -9.0f, 100.0f, 0.0f};
  const std::vector<std::uint64_t> position{2};
  // key 0: products 10 and  2: 2 * (-1 * 5 + 3 * 1) = -4
  // key 1: products  2 and  6: 2 * (-1 * 1 + 3 * 3) = 16
  // key 2: products -19 and 6: 2 * (         3 * 3) = 18
  EXPECT_THAT(scores(spec, {queries, weights, position, keys}),
              ElementsAre(-4.0f, 16.0f, 18.0f, -kInfinity));
  EXPECT_THAT(select_keys(spec, {queries, weights, position, keys}).value().row(0), ElementsAre(2));
}

TEST(Indexer, ANegativeScoreScaleIsInsideTheRelu) {
  IndexerSpec spec = kScalar;
  spec.score_scale = -1.0f;
  const std::vector<float> one{1.0f};
  const std::vector<float> keys{-3.0f, 5.0f};
  EXPECT_THAT(scores(spec, {one, one, std::vector<std::uint64_t>{1}, keys}),
              ElementsAre(3.0f, 0.0f));
}

TEST(Indexer, ScoresAreSummedInF64AndRoundedLast) {
  const IndexerSpec spec{.heads = 3, .width = 1, .top_k = 1};
  // in f32 2^24 + 1 would be lost before -2^24 is added
  const std::vector<float> queries{16777216.0f, 1.0f, 16777216.0f};
  const std::vector<float> weights{1.0f, 1.0f, -1.0f};
  const std::vector<float> key{1.0f};
  EXPECT_THAT(scores(spec, {queries, weights, std::vector<std::uint64_t>{0}, key}),
              ElementsAre(1.0f));
}

TEST(Indexer, TopIndicesAreTheBestAndAscend) {
  const std::vector<float> values{1.0f, 9.0f, 3.0f, 9.0f, -kInfinity, 3.0f};
  EXPECT_TRUE(top_indices(values, 0).empty());
  EXPECT_THAT(top_indices(values, 1), ElementsAre(1));
  EXPECT_THAT(top_indices(values, 2), ElementsAre(1, 3));
  EXPECT_THAT(top_indices(values, 3), ElementsAre(1, 2, 3));
  EXPECT_THAT(top_indices(values, 5), ElementsAre(0, 1, 2, 3, 5));
  EXPECT_THAT(top_indices(values, 6), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(top_indices(values, 60), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_TRUE(top_indices({}, 3).empty());
}

TEST(Indexer, NegativeZeroAndZeroAreEqual) {
  EXPECT_THAT(top_indices(std::vector<float>{-0.0f, 0.0f, -0.0f, 0.0f}, 2), ElementsAre(0, 1));
  EXPECT_THAT(top_indices(std::vector<float>{0.0f, -0.0f, -1.0f}, 1), ElementsAre(0));
}

TEST(Indexer, TopIndicesEqualASortOfPairs) {
  for (const std::size_t size : {1u, 2u, 7u, 64u, 257u}) {
    std::vector<float> values = Layer::wave(size, 0.77f);
    for (float& value : values) {
      value = std::round(value * 3.0f);  // many ties
    }
    std::vector<std::pair<float, std::uint32_t>> sorted;
    for (std::uint32_t i = 0; i < size; ++i) {
      sorted.emplace_back(-values[i], i);
    }
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t count = 0; count <= size; ++count) {
      Positions expected;
      for (std::size_t i = 0; i < count; ++i) {
        expected.push_back(sorted[i].second);
      }
      std::sort(expected.begin(), expected.end());
      EXPECT_EQ(top_indices(values, count), expected) << size << " " << count;
    }
  }
}

TEST(Indexer, ScoresOfZeroKeepTheLowestPositions) {
  // every product is below zero: relu makes all scores equal
  const std::vector<float> query{-1.0f};
  const std::vector<float> weight{5.0f};
  const std::vector<float> keys{4.0f, 3.0f, 2.0f, 1.0f};
  const std::vector<std::uint64_t> position{3};
  EXPECT_THAT(select_keys(kScalar, {query, weight, position, keys}).value().row(0),
              ElementsAre(0, 1));
  // and negative weights make positive scores worse than that
  const std::vector<float> negative{-5.0f};
  const std::vector<float> mixed{-9.0f, 3.0f, -1.0f, 1.0f};
  EXPECT_THAT(select_keys(kScalar, {query, negative, position, mixed}).value().row(0),
              ElementsAre(1, 3));
}

TEST(Indexer, SelectsTheBestScoresOfEveryRow) {
  Layer layer;
  for (const std::uint32_t top_k : {1u, 2u, 4u, 12u}) {
    layer.spec.top_k = top_k;
    const auto all = scores(layer.spec, layer.inputs());
    const Selection selection = select_keys(layer.spec, layer.inputs()).value();
    ASSERT_EQ(selection.rows(), 13u);
    for (std::size_t row = 0; row < 13; ++row) {
      const auto kept = selection.row(row);
      EXPECT_EQ(kept.size(), std::min<std::size_t>(top_k, row + 1));
      // nothing left out beats anything kept
      for (std::uint32_t key = 0; key <= row; ++key) {
        for (const std::uint32_t one : kept) {
          EXPECT_TRUE(std::find(kept.begin(), kept.end(), key) != kept.end() ||
                      all[row * 13 + key] <= all[row * 13 + one]);
        }
      }
    }
    EXPECT_TRUE(check_visible(selection, layer.positions).ok());
  }
}

TEST(Indexer, TopKOfTheHistoryOrMoreKeepsEverything) {
  Layer layer;
  for (const std::uint32_t top_k : {13u, 14u, std::numeric_limits<std::uint32_t>::max()}) {
    layer.spec.top_k = top_k;
    const Selection selection = select_keys(layer.spec, layer.inputs()).value();
    for (std::size_t row = 0; row < 13; ++row) {
      Positions all(row + 1);
      std::iota(all.begin(), all.end(), 0u);
      EXPECT_THAT(selection.row(row), ElementsAreArray(all));
    }
  }
}

TEST(Indexer, LaterKeysChangeNothingAndAreNotRead) {
  const Layer layer;
  const auto before = scores(layer.spec, layer.part(6, 7, 13));
  const Selection kept = select_keys(layer.spec, layer.part(6, 7, 13)).value();
  Layer changed = layer;
  std::fill(changed.keys.begin() + 7 * 5, changed.keys.end(), kNan);
  EXPECT_EQ(scores(changed.spec, changed.part(6, 7, 13)), before);
  EXPECT_EQ(select_keys(changed.spec, changed.part(6, 7, 13)).value(), kept);
  for (std::size_t key = 0; key < 13; ++key) {
    EXPECT_EQ(std::isinf(before[key]), key > 6);
  }
  // the row's own key takes part
  changed.keys[6 * 5] = kNan;
  EXPECT_FALSE(select_keys(changed.spec, changed.part(6, 7, 13)).ok());
}

TEST(Indexer, AnySplitEqualsTheWholeBitForBit) {
  const Layer layer;
  const auto whole = scores(layer.spec, layer.inputs());
  const Selection selection = select_keys(layer.spec, layer.inputs()).value();
  for (std::size_t split = 1; split < 13; ++split) {
    const Selection head = select_keys(layer.spec, layer.part(0, split, split)).value();
    const Selection tail = select_keys(layer.spec, layer.part(split, 13, 13)).value();
    Selection joined;
    for (std::size_t row = 0; row < 13; ++row) {
      joined.append_row(row < split ? head.row(row) : tail.row(row - split));
    }
    EXPECT_EQ(joined, selection) << split;
    const auto alone = scores(layer.spec, layer.part(split, split + 1, split + 1));
    for (std::size_t key = 0; key <= split; ++key) {
      EXPECT_EQ(alone[key], whole[split * 13 + key]);
    }
  }
}

TEST(Indexer, TheOrderOfHeadsChangesNothing) {
  Layer layer;
  layer.spec.score_scale = 0.25f;
  layer.spec.weight_scale = 0.5f;
  layer.queries = integers(layer.queries);
  layer.weights = integers(layer.weights);
  layer.keys = integers(layer.keys);
  Layer turned = layer;
  for (std::size_t row = 0; row < 13; ++row) {
    for (std::size_t head = 0; head < 3; ++head) {
      const std::size_t from = row * 3 + head;
      const std::size_t to = row * 3 + (head + 1) % 3;
      turned.weights[to] = layer.weights[from];
      std::copy_n(layer.queries.begin() + static_cast<std::ptrdiff_t>(from * 5), 5,
                  turned.queries.begin() + static_cast<std::ptrdiff_t>(to * 5));
    }
  }
  EXPECT_EQ(scores(turned.spec, turned.inputs()), scores(layer.spec, layer.inputs()));
}

TEST(Indexer, EmptyHistoryAndNoRows) {
  const std::vector<float> one{1.0f};
  const std::vector<std::uint64_t> position{5};
  EXPECT_TRUE(scores(kScalar, {one, one, position, {}}).empty());
  const Selection nothing = select_keys(kScalar, {one, one, position, {}}).value();
  ASSERT_EQ(nothing.rows(), 1u);
  EXPECT_TRUE(nothing.row(0).empty());
  EXPECT_EQ(select_keys(kScalar, {{}, {}, {}, one}).value().rows(), 0u);
  // a first row has its own key alone
  const std::vector<std::uint64_t> zero{0};
  EXPECT_THAT(select_keys(kScalar, {one, one, zero, one}).value().row(0), ElementsAre(0));
}

TEST(Indexer, PositionsBeyondTheKeysSeeAllOfThem) {
  const std::vector<float> one{1.0f};
  const std::vector<float> keys{1.0f, 3.0f, 2.0f};
  for (const std::uint64_t at : {std::uint64_t{2}, std::uint64_t{3}, ~std::uint64_t{0}}) {
    const std::vector<std::uint64_t> position{at};
    EXPECT_THAT(select_keys(kScalar, {one, one, position, keys}).value().row(0), ElementsAre(1, 2));
  }
}

TEST(Indexer, RefusesNumbersThatAreNotFiniteByName) {
  struct Case {
    std::string place;
    std::function<void(Layer&)> spoil;
  };
  const Case cases[] = {
      {"indexer queries: row 1, head 2, lane 3 is NaN", [](Layer& l) { l.queries[28] = kNan; }},
      {"indexer weights: row 4, head 1", [](Layer& l) { l.weights[13] = kInfinity; }},
      {"indexer keys: row 2, lane 4 is infinite", [](Layer& l) { l.keys[14] = -kInfinity; }},
  };
  for (const Case& bad : cases) {
    Layer layer;
    bad.spoil(layer);
    std::vector<float> out(13 * 13);
    const Status status = index_scores(layer.spec, layer.inputs(), out);
    ASSERT_FALSE(status.ok()) << bad.place;
    EXPECT_THAT(status.error().message, HasSubstr(bad.place));
    const auto selection = select_keys(layer.spec, layer.inputs());
    ASSERT_FALSE(selection.ok()) << bad.place;
    EXPECT_THAT(selection.error().message, HasSubstr(bad.place));
  }
}

TEST(Indexer, ValidateNamesTheField) {
  const std::pair<const char *, std::function<void(IndexerSpec&)>> cases[] = {
      {"indexer heads:", [](IndexerSpec& s) { s.heads = 0; }},
      {"indexer width:", [](IndexerSpec& s) { s.width = 0; }},
      {"indexer top_k:", [](IndexerSpec& s) { s.top_k = 0; }},
      {"indexer score_scale:", [](IndexerSpec& s) { s.score_scale = kNan; }},
      {"indexer weight_scale:", [](IndexerSpec& s) { s.weight_scale = kInfinity; }},
  };
  EXPECT_TRUE(validate(kScalar).ok());
  for (const auto& [field, spoil] : cases) {
    IndexerSpec spec = kScalar;
    spoil(spec);
    ASSERT_FALSE(validate(spec).ok()) << field;
    EXPECT_THAT(validate(spec).error().message, HasSubstr(field));
    EXPECT_FALSE(index_scores(spec, {}, {}).ok());
    EXPECT_FALSE(select_keys(spec, {}).ok());
  }
}

}  // namespace
}  // namespace zllm::attention::sparse
