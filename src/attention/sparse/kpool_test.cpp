#include <zllm/attention/sparse/kpool.h>

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

#include <zllm/attention/sparse/indexer.h>

namespace zllm::attention::sparse {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
using Positions = std::vector<std::uint32_t>;

// One head, width 1.
KpoolSpec scalar(std::uint32_t top_k, std::uint32_t pool, bool select_tail = true) {
  return {.indexer = {.heads = 1, .width = 1, .top_k = top_k},
          .pool = pool,
          .select_tail = select_tail};
}

// Rows at the given positions of a sequence whose pooled keys are the means of the keys, scored by
// the key itself.
Selection select(const KpoolSpec& spec, const std::vector<float>& keys,
                 const std::vector<std::uint64_t>& positions) {
  const std::vector<float> ones(positions.size(), 1.0f);
  const std::vector<float> gates(keys.size(), 0.0f);
  const std::vector<float> bias(spec.pool, 0.0f);
  auto selection = select_pools(spec, {ones, ones, positions, keys, gates, bias});
  EXPECT_TRUE(selection.ok()) << (selection.ok() ? "" : selection.error().message);
  return std::move(selection).value();
}

Positions range(std::uint32_t begin, std::uint32_t end) {
  Positions result(end - begin);
  std::iota(result.begin(), result.end(), begin);
  return result;
}

// Several heads with history, reproducible numbers and no symmetry; the pool divides neither the
// count nor top_k.
struct Layer {
  KpoolSpec spec{
      .indexer = {.heads = 3, .width = 5, .top_k = 7, .score_scale = 0.4f, .weight_scale = 0.6f},
      .pool = 3};
  std::size_t count = 20;
  std::vector<float> queries = wave(count * 15, 0.37f);
  std::vector<float> weights = wave(count * 3, 1.3f);
  std::vector<float> keys = wave(count * 5, 0.73f);
  std::vector<float> gates = wave(count * 5, 1.91f);
  std::vector<float> bias = wave(15, 2.3f);
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
  void set_pool(std::uint32_t pool) {
    spec.pool = pool;
    bias = wave(std::size_t{pool} * 5, 2.3f);
  }
  KpoolInputs inputs() const { return {queries, weights, positions, keys, gates, bias}; }
  // Rows [begin, end) with the first `known` keys.
  KpoolInputs part(std::size_t begin, std::size_t end, std::size_t known) const {
    return {std::span(queries).subspan(begin * 15, (end - begin) * 15),
            std::span(weights).subspan(begin * 3, (end - begin) * 3),
            std::span(positions).subspan(begin, end - begin),
            std::span(keys).first(known * 5),
            std::span(gates).first(known * 5),
            bias};
  }
};

TEST(PoolKey, GatesWeighMembersPerChannel) {
  KpoolSpec spec = scalar(2, 2);
  spec.indexer.width = 2;
  // channel 0: gates ln 3 and 0: (3 * 8 + 4) / 4; channel 1: gates 0 and 0: the mean
  const std::vector<float> keys{8.0f, 10.0f, 4.0f, 20.0f};
  const std::vector<float> gates{std::log(3.0f), 0.0f, 0.0f, 0.0f};
  const std::vector<float> none(4, 0.0f);
  std::vector<float> pooled(2);
  pool_key(spec, keys, gates, none, pooled);
  EXPECT_FLOAT_EQ(pooled[0], 7.0f);
  EXPECT_FLOAT_EQ(pooled[1], 15.0f);
  // a position bias is added to the gate: ln 3 of member 1 evens channel 0
  const std::vector<float> bias{0.0f, 0.0f, std::log(3.0f), std::log(3.0f)};
  pool_key(spec, keys, gates, bias, pooled);
  EXPECT_FLOAT_EQ(pooled[0], 6.0f);
  EXPECT_FLOAT_EQ(pooled[1], 17.5f);
}

TEST(PoolKey, LargeGatesDoNotOverflow) {
  const KpoolSpec spec = scalar(3, 3);
  std::vector<float> pooled(1);
  const std::vector<float> keys{2.0f, 6.0f, 50.0f};
  const std::vector<float> bias{3e38f, 3e38f, 3e38f};
  pool_key(spec, keys, std::vector<float>{3e38f, 3e38f, -3e38f}, bias, pooled);
  EXPECT_FLOAT_EQ(pooled[0], 4.0f);
  const std::vector<float> low{-3e38f, -3e38f, -3e38f};
  pool_key(spec, keys, std::vector<float>{-3e38f, -3e38f, -3e38f}, low, pooled);
  EXPECT_FLOAT_EQ(pooled[0], 58.0f / 3.0f);
  // a mean of the largest numbers is no larger than they are
  const float most = std::numeric_limits<float>::max();
  pool_key(spec, std::vector<float>{most, most, most}, std::vector<float>{0.1f, 0.2f, 0.3f},
           std::vector<float>(3, 0.0f), pooled);
  EXPECT_EQ(pooled[0], most);
}

TEST(PoolKey, OneMemberIsItself) {
  const KpoolSpec spec = scalar(1, 1);
  for (const float key : {0.1f, -3e38f, 1e-45f}) {
    std::vector<float> pooled(1);
    pool_key(spec, std::vector<float>{key}, std::vector<float>{17.3f}, std::vector<float>{-2.1f},
             pooled);
    EXPECT_EQ(pooled[0], key);
  }
}

TEST(Kpool, VisiblePoolsAreCompleteOnes) {
  const KpoolSpec spec = scalar(4, 4);
  EXPECT_EQ(visible_pools(spec, 0), 0u);
  EXPECT_EQ(visible_pools(spec, 2), 0u);
  EXPECT_EQ(visible_pools(spec, 3), 1u);
  EXPECT_EQ(visible_pools(spec, 6), 1u);
  EXPECT_EQ(visible_pools(spec, 7), 2u);
}

TEST(Kpool, BestPoolsAndTheTailByHand) {
  // means of the pools of three: 1, 4, 2, 3; the budget of 8 positions is two pools
  const std::vector<float> keys{0.0f, 1.0f, 2.0f, 4.0f, 4.0f, 4.0f,  6.0f,
                                0.0f, 0.0f, 3.0f, 3.0f, 3.0f, 99.0f, 99.0f};
  const std::vector<std::uint64_t> positions{0, 2, 4, 8, 10, 11, 12, 13};
  const Selection s = select(scalar(8, 3), keys, positions);
  EXPECT_THAT(s.row(0), ElementsAre(0));
  EXPECT_THAT(s.row(1), ElementsAre(0, 1, 2));
  EXPECT_THAT(s.row(2), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(s.row(3), ElementsAre(3, 4, 5, 6, 7, 8));
  EXPECT_THAT(s.row(4), ElementsAre(3, 4, 5, 6, 7, 8, 9, 10));
  EXPECT_THAT(s.row(5), ElementsAre(3, 4, 5, 9, 10, 11));
  EXPECT_THAT(s.row(6), ElementsAre(3, 4, 5, 9, 10, 11, 12));
  EXPECT_THAT(s.row(7), ElementsAre(3, 4, 5, 9, 10, 11, 12, 13));
}

TEST(Kpool, WithoutTheTailOnlyWholePools) {
  const std::vector<float> keys{0.0f, 1.0f, 2.0f, 4.0f, 4.0f, 4.0f,  6.0f,
                                0.0f, 0.0f, 3.0f, 3.0f, 3.0f, 99.0f, 99.0f};
  const Selection s = select(scalar(8, 3, false), keys, {1, 2, 4, 10, 13});
  EXPECT_TRUE(s.row(0).empty());
  EXPECT_THAT(s.row(1), ElementsAre(0, 1, 2));
  EXPECT_THAT(s.row(2), ElementsAre(0, 1, 2));
  EXPECT_THAT(s.row(3), ElementsAre(3, 4, 5, 6, 7, 8));
  EXPECT_THAT(s.row(4), ElementsAre(3, 4, 5, 9, 10, 11));
}

TEST(Kpool, EqualPoolsKeepTheLowest) {
  const std::vector<float> keys(17, -1.0f);  // relu: every score is zero
  EXPECT_THAT(select(scalar(4, 2), keys, {16}).row(0), ElementsAre(0, 1, 2, 3, 16));
}

TEST(Kpool, ThePoolOfTheBudgetIsOne) {
  std::vector<float> keys(15, 0.0f);
  keys[6] = 1.0f;
  EXPECT_THAT(select(scalar(5, 5), keys, {14}).row(0), ElementsAre(5, 6, 7, 8, 9));
  EXPECT_THAT(select(scalar(9, 5), keys, {14}).row(0), ElementsAre(5, 6, 7, 8, 9));
}

TEST(Kpool, EverythingIsKeptWhileItFits) {
  Layer layer;
  for (const std::uint32_t pool : {1u, 2u, 4u, 20u}) {
    layer.set_pool(pool);
    layer.spec.indexer.top_k = 20;
    const Selection s = select_pools(layer.spec, layer.inputs()).value();
    for (std::uint32_t row = 0; row < 20; ++row) {
      EXPECT_THAT(s.row(row), ElementsAreArray(range(0, row + 1)));
    }
  }
}

TEST(Kpool, RowsAreBudgetPlusTailWide) {
  Layer layer;
  for (const std::uint32_t pool : {1u, 2u, 3u, 5u, 7u}) {
    for (const bool tail : {true, false}) {
      layer.set_pool(pool);
      layer.spec.select_tail = tail;
      const Selection s = select_pools(layer.spec, layer.inputs()).value();
      ASSERT_EQ(s.rows(), 20u);
      for (std::uint32_t row = 0; row < 20; ++row) {
        const std::uint32_t pools = std::min(7 / pool, (row + 1) / pool);
        EXPECT_EQ(s.row(row).size(), pools * pool + (tail ? (row + 1) % pool : 0));
        EXPECT_TRUE(!tail || (row + 1) % pool == 0 || s.row(row).back() == row);
      }
      EXPECT_TRUE(check_visible(s, layer.positions).ok());
    }
  }
}

TEST(Kpool, APoolOfOneIsThePlainIndexer) {
  Layer layer;
  layer.set_pool(1);
  const Selection plain =
      select_keys(layer.spec.indexer, {layer.queries, layer.weights, layer.positions, layer.keys})
          .value();
  for (const bool tail : {true, false}) {
    layer.spec.select_tail = tail;
    EXPECT_EQ(select_pools(layer.spec, layer.inputs()).value(), plain);
  }
}

TEST(Kpool, EqualsTheIndexerOverPooledKeys) {
  const Layer layer;
  std::vector<float> pooled(6 * 5);
  for (std::size_t pool = 0; pool < 6; ++pool) {
    pool_key(layer.spec, std::span(layer.keys).subspan(pool * 15, 15),
             std::span(layer.gates).subspan(pool * 15, 15), layer.bias,
             std::span(pooled).subspan(pool * 5, 5));
  }
  IndexerSpec indexer = layer.spec.indexer;
  indexer.top_k = 2;
  const Selection s = select_pools(layer.spec, layer.inputs()).value();
  for (std::size_t row = 2; row < 20; ++row) {
    const std::vector<std::uint64_t> last{(row + 1) / 3 - 1};
    const Selection pools =
        select_keys(indexer, {std::span(layer.queries).subspan(row * 15, 15),
                              std::span(layer.weights).subspan(row * 3, 3), last, pooled})
            .value();
    Positions expected;
    for (const std::uint32_t pool : pools.row(0)) {
      const auto members = range(pool * 3, pool * 3 + 3);
      expected.insert(expected.end(), members.begin(), members.end());
    }
    for (auto at = static_cast<std::uint32_t>((row + 1) / 3 * 3); at <= row; ++at) {
      expected.push_back(at);
    }
    EXPECT_THAT(s.row(row), ElementsAreArray(expected)) << row;
  }
}

TEST(Kpool, LaterKeysAndIncompletePoolsAreNotRead) {
  const Layer layer;
  for (std::size_t row = 0; row < 20; ++row) {
    const Selection before = select_pools(layer.spec, layer.part(row, row + 1, 20)).value();
    Layer changed = layer;
    const auto from = static_cast<std::ptrdiff_t>((row + 1) / 3 * 3 * 5);
    std::fill(changed.keys.begin() + from, changed.keys.end(), kNan);
    std::fill(changed.gates.begin() + from, changed.gates.end(), kNan);
    EXPECT_EQ(select_pools(changed.spec, changed.part(row, row + 1, 20)).value(), before) << row;
  }
}

TEST(Kpool, AnySplitEqualsTheWhole) {
  const Layer layer;
  const Selection whole = select_pools(layer.spec, layer.inputs()).value();
  for (std::size_t split = 1; split < 20; ++split) {
    const Selection head = select_pools(layer.spec, layer.part(0, split, split)).value();
    const Selection tail = select_pools(layer.spec, layer.part(split, 20, 20)).value();
    Selection joined;
    for (std::size_t row = 0; row < 20; ++row) {
      joined.append_row(row < split ? head.row(row) : tail.row(row - split));
    }
    EXPECT_EQ(joined, whole) << split;
  }
}

TEST(Kpool, NoRowsAndRowsPastTheKeys) {
  const KpoolSpec spec = scalar(2, 2);
  const std::vector<float> one{1.0f};
  const std::vector<float> bias(2, 0.0f);
  EXPECT_EQ(select_pools(spec, {{}, {}, {}, one, one, bias}).value().rows(), 0u);
  EXPECT_EQ(select_pools(spec, {{}, {}, {}, {}, {}, bias}).value().rows(), 0u);
  for (const std::uint64_t at : {std::uint64_t{1}, ~std::uint64_t{0}}) {
    const std::vector<std::uint64_t> position{at};
    const auto past = select_pools(spec, {one, one, position, one, one, bias});
    ASSERT_FALSE(past.ok());
    EXPECT_THAT(past.error().message, HasSubstr("row 0 at"));
  }
}

TEST(Kpool, RefusesNumbersThatAreNotFiniteByName) {
  struct Case {
    std::string place;
    std::function<void(Layer&)> spoil;
  };
  const Case cases[] = {
      {"kpool queries: row 1, head 2, lane 3 is NaN", [](Layer& l) { l.queries[28] = kNan; }},
      {"kpool weights: row 4, head 1", [](Layer& l) { l.weights[13] = kInfinity; }},
      {"kpool keys: row 2, lane 4 is infinite", [](Layer& l) { l.keys[14] = -kInfinity; }},
      {"kpool gates: row 17, lane 0 is NaN", [](Layer& l) { l.gates[85] = kNan; }},
      {"kpool position bias: row 2, lane 1 is NaN", [](Layer& l) { l.bias[11] = kNan; }},
  };
  for (const Case& bad : cases) {
    Layer layer;
    bad.spoil(layer);
    const auto selection = select_pools(layer.spec, layer.inputs());
    ASSERT_FALSE(selection.ok()) << bad.place;
    EXPECT_THAT(selection.error().message, HasSubstr(bad.place));
  }
}

TEST(Kpool, ValidateNamesTheField) {
  const std::pair<const char *, std::function<void(KpoolSpec&)>> cases[] = {
      {"kpool pool: must be above 0", [](KpoolSpec& s) { s.pool = 0; }},
      {"kpool pool: 5 positions are more than the top_k of 4", [](KpoolSpec& s) { s.pool = 5; }},
      {"indexer heads:", [](KpoolSpec& s) { s.indexer.heads = 0; }},
      {"indexer width:", [](KpoolSpec& s) { s.indexer.width = 0; }},
      {"indexer top_k:", [](KpoolSpec& s) { s.indexer.top_k = 0; }},
      {"indexer score_scale:", [](KpoolSpec& s) { s.indexer.score_scale = kInfinity; }},
      {"indexer weight_scale:", [](KpoolSpec& s) { s.indexer.weight_scale = kNan; }},
  };
  EXPECT_TRUE(validate(scalar(4, 4)).ok());
  for (const auto& [field, spoil] : cases) {
    KpoolSpec spec = scalar(4, 4);
    spoil(spec);
    ASSERT_FALSE(validate(spec).ok()) << field;
    EXPECT_THAT(validate(spec).error().message, HasSubstr(field));
    EXPECT_FALSE(select_pools(spec, {}).ok());
  }
}

}  // namespace
}  // namespace zllm::attention::sparse
