#include <zllm/attention/gqa/reference.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

namespace zllm::attention::gqa {
namespace {

using testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// One head, width 1: scores are products, so softmaxes are easy by hand.
constexpr Spec kScalar{.query_heads = 1, .kv_heads = 1, .head = 1, .scale = 1.0f};

std::vector<float> run(const Spec& spec, const Inputs& inputs) {
  std::vector<float> output(inputs.query_positions.size() * spec.query_heads * value_width(spec),
                            kNan);
  const Status status = attend(spec, inputs, output);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  return output;
}

// A layer of several heads with history, reproducible values and no symmetry.
struct Layer {
  Spec spec{.query_heads = 6, .kv_heads = 3, .head = 5, .value_head = 4, .scale = 0.6f};
  std::size_t count = 11;
  std::vector<float> queries = wave(count * 6 * 5, 0.37f);
  std::vector<float> keys = wave(count * 3 * 5, 0.73f);
  std::vector<float> values = wave(count * 3 * 4, 1.19f);
  std::vector<float> sinks = wave(6, 2.3f);
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
  Inputs inputs() const { return {queries, positions, keys, values}; }
  // Rows [begin, end) with the first `keys_known` keys.
  std::vector<float> rows(std::size_t begin, std::size_t end, std::size_t keys_known) const {
    const std::size_t query = std::size_t{spec.query_heads} * spec.head;
    return run(spec, {std::span(queries).subspan(begin * query, (end - begin) * query),
                      std::span(positions).subspan(begin, end - begin),
                      std::span(keys).first(keys_known * 3 * 5),
                      std::span(values).first(keys_known * 3 * 4),
                      {},
                      sinks});
  }
};

TEST(Visibility, WindowEdges) {
  EXPECT_TRUE(visible(0, 9, 0));
  EXPECT_TRUE(visible(0, 9, 9));
  EXPECT_FALSE(visible(0, 9, 10));
  EXPECT_TRUE(visible(4, 9, 6));
  EXPECT_FALSE(visible(4, 9, 5));
  EXPECT_TRUE(visible(1, 9, 9));
  EXPECT_FALSE(visible(1, 9, 8));
  EXPECT_TRUE(visible(4, 2, 0));
  for (const std::uint32_t window : {0u, 1u, 2u, 7u, 20u}) {
    for (std::uint64_t query = 0; query < 12; ++query) {
      const std::uint64_t start = first_visible(window, query);
      for (std::uint64_t key = 0; key < 14; ++key) {
        EXPECT_EQ(visible(window, query, key), key >= start && key <= query);
      }
    }
  }
}

TEST(Gqa, TwoKeysByHand) {
  // scores ln 3 and 0: weights 3/4 and 1/4
  const std::vector<float> keys{std::log(3.0f), 0.0f};
  const std::vector<float> values{8.0f, 4.0f};
  const auto y =
      run(kScalar, {std::vector<float>{1.0f}, std::vector<std::uint64_t>{1}, keys, values});
  EXPECT_FLOAT_EQ(y[0], 7.0f);
}

TEST(Gqa, ScaleMultipliesScoresAndNotSinks) {
  Spec spec = kScalar;
  spec.scale = 0.5f;
  // score 0.5 * 2 * ln 3 = ln 3 against a sink of 0: weight 3/4
  const std::vector<float> query{2.0f};
  const std::vector<std::uint64_t> position{0};
  const std::vector<float> keys{std::log(3.0f)};
  const std::vector<float> values{8.0f};
  const std::vector<float> sink{0.0f};
  EXPECT_FLOAT_EQ(run(spec, {query, position, keys, values, {}, sink})[0], 6.0f);
  const std::vector<float> high{std::log(9.0f)};
  EXPECT_FLOAT_EQ(run(spec, {query, position, keys, values, {}, high})[0], 2.0f);
  const std::vector<float> none{-kInfinity};
  EXPECT_FLOAT_EQ(run(spec, {query, position, keys, values, {}, none})[0], 8.0f);
}

TEST(Gqa, SoftcapBoundsTheScaledScore) {
  Spec spec = kScalar;
  spec.softcap = 2.0f;
  // 2 tanh(1000/2) = 2 against 2 tanh(0) = 0
  const std::vector<float> keys{1000.0f, 0.0f};
  const std::vector<float> values{1.0f, 0.0f};
  const auto y = run(spec, {std::vector<float>{1.0f}, std::vector<std::uint64_t>{1}, keys, values});
  EXPECT_FLOAT_EQ(y[0], 1.0f / (1.0f + std::exp(-2.0f)));
}

TEST(Gqa, HugeScoresDoNotOverflow) {
  const std::vector<float> keys{3e38f, -3e38f, 3e38f};
  const std::vector<float> values{1.0f, 50.0f, 3.0f};
  const auto y =
      run(kScalar, {std::vector<float>{3e38f}, std::vector<std::uint64_t>{2}, keys, values});
  EXPECT_FLOAT_EQ(y[0], 2.0f);
}

TEST(Gqa, EmptyHistoryAndNothingVisibleYieldZeros) {
  const std::vector<float> query{1.0f};
  const std::vector<std::uint64_t> position{5};
  EXPECT_EQ(run(kScalar, {query, position, {}, {}})[0], 0.0f);
  const std::vector<float> key{1.0f};
  const std::vector<std::uint64_t> later{6};
  EXPECT_EQ(run(kScalar, {query, position, key, key, later})[0], 0.0f);
  const std::vector<float> sink{3.0f};
  EXPECT_EQ(run(kScalar, {query, position, key, key, later, sink})[0], 0.0f);
  EXPECT_TRUE(run(kScalar, {{}, {}, key, key}).empty());
}

TEST(Gqa, FirstRowReturnsItsOwnValue) {
  const Layer layer;
  const auto y = run(layer.spec, layer.inputs());
  for (std::size_t head = 0; head < 6; ++head) {
    for (std::size_t lane = 0; lane < 4; ++lane) {
      EXPECT_FLOAT_EQ(y[head * 4 + lane], layer.values[head / 2 * 4 + lane]);
    }
  }
}

TEST(Gqa, LaterKeysAndKeysOutsideTheWindowChangeNothing) {
  for (const std::uint32_t window : {0u, 1u, 3u}) {
    Layer layer;
    layer.spec.window = window;
    const auto before = layer.rows(6, 7, 11);
    for (std::size_t key = 0; key < layer.count; ++key) {
      Layer changed = layer;
      for (std::size_t lane = 0; lane < 15; ++lane) {
        changed.keys[key * 15 + lane] = kNan;  // an unseen key is not even read
      }
      if (!visible(window, 6, key)) {
        EXPECT_EQ(changed.rows(6, 7, 11), before) << window << " " << key;
      }
    }
  }
}

TEST(Gqa, AnySplitEqualsTheWholeBitForBit) {
  for (const std::uint32_t window : {0u, 1u, 4u, 11u, 50u}) {
    for (const float softcap : {0.0f, 1.5f}) {
      Layer layer;
      layer.spec.window = window;
      layer.spec.softcap = softcap;
      const auto whole = layer.rows(0, 11, 11);
      for (std::size_t split = 1; split < 11; ++split) {
        auto joined = layer.rows(0, split, split);
        const auto rest = layer.rows(split, 11, 11);
        joined.insert(joined.end(), rest.begin(), rest.end());
        EXPECT_EQ(joined, whole) << split;
      }
      for (std::size_t row = 0; row < 11; ++row) {
        const auto alone = layer.rows(row, row + 1, row + 1);
        EXPECT_TRUE(std::equal(alone.begin(), alone.end(),
                               whole.begin() + static_cast<std::ptrdiff_t>(row * 24)));
      }
    }
  }
}

TEST(Gqa, KeyPositionsDecideNotTheirOrder) {
  Layer layer;
  layer.spec.window = 4;
  const auto expected = run(layer.spec, layer.inputs());
  std::vector<std::uint64_t> positions(11);
  Layer turned = layer;
  for (std::size_t key = 0; key < 11; ++key) {
    const std::size_t slot = (key * 7 + 3) % 11;  // a ring in some order
    positions[slot] = key;
    std::copy_n(layer.keys.begin() + static_cast<std::ptrdiff_t>(key * 15), 15,
                turned.keys.begin() + static_cast<std::ptrdiff_t>(slot * 15));
    std::copy_n(layer.values.begin() + static_cast<std::ptrdiff_t>(key * 12), 12,
                turned.values.begin() + static_cast<std::ptrdiff_t>(slot * 12));
  }
  Inputs inputs = turned.inputs();
  inputs.key_positions = positions;
  const auto y = run(layer.spec, inputs);
  for (std::size_t i = 0; i < y.size(); ++i) {
    EXPECT_NEAR(y[i], expected[i], 1e-6f);
  }
}

TEST(Gqa, GroupsAreConsecutiveQueryHeads) {
  Layer layer;
  const auto y = run(layer.spec, layer.inputs());
  // Each kv head alone with its two query heads gives the same as within the layer.
  for (std::size_t group = 0; group < 3; ++group) {
    Spec one = layer.spec;
    one.query_heads = 2;
    one.kv_heads = 1;
    std::vector<float> queries;
    std::vector<float> keys;
    std::vector<float> values;
    for (std::size_t row = 0; row < 11; ++row) {
      for (std::size_t lane = 0; lane < 10; ++lane) {
        queries.push_back(layer.queries[row * 30 + group * 10 + lane]);
      }
      for (std::size_t lane = 0; lane < 5; ++lane) {
        keys.push_back(layer.keys[row * 15 + group * 5 + lane]);
      }
      for (std::size_t lane = 0; lane < 4; ++lane) {
        values.push_back(layer.values[row * 12 + group * 4 + lane]);
      }
    }
    const auto part = run(one, {queries, layer.positions, keys, values});
    for (std::size_t row = 0; row < 11; ++row) {
      for (std::size_t lane = 0; lane < 8; ++lane) {
        EXPECT_EQ(part[row * 8 + lane], y[row * 24 + group * 8 + lane]);
      }
    }
  }
}

TEST(Gqa, OddHeadCounts) {
  Spec spec{.query_heads = 9, .kv_heads = 3, .head = 1, .scale = 1.0f};
  const std::vector<float> queries(9, 1.0f);
  const std::vector<float> keys(3, 1.0f);
  const std::vector<float> values{1.0f, 2.0f, 3.0f};
  EXPECT_EQ(run(spec, {queries, std::vector<std::uint64_t>{0}, keys, values}),
            (std::vector<float>{1, 1, 1, 2, 2, 2, 3, 3, 3}));
}

TEST(Gqa, RefusesNumbersThatAreNotFiniteByName) {
  struct Case {
    std::string place;
    std::function<void(Layer&)> spoil;
  };
  const Case cases[] = {
      {"attention queries: row 1, head 2, lane 3 is NaN", [](Layer& l) { l.queries[43] = kNan; }},
      {"attention keys: row 2, head 1, lane 4 is infinite",
       [](Layer& l) { l.keys[39] = -kInfinity; }},
      {"attention values: row 0, head 2, lane 1 is NaN", [](Layer& l) { l.values[9] = kNan; }},
      {"attention sinks: head 5", [](Layer& l) { l.sinks[5] = kInfinity; }},
  };
  for (const Case& bad : cases) {
    Layer layer;
    bad.spoil(layer);
    Inputs inputs = layer.inputs();
    inputs.sinks = layer.sinks;
    std::vector<float> output(11 * 24);
    const Status status = attend(layer.spec, inputs, output);
    ASSERT_FALSE(status.ok()) << bad.place;
    EXPECT_THAT(status.error().message, HasSubstr(bad.place));
  }
}

TEST(Gqa, ValidateNamesTheField) {
  Spec spec = kScalar;
  spec.kv_heads = 0;
  EXPECT_THAT(validate(spec).error().message, HasSubstr("heads"));
  spec = kScalar;
  spec.query_heads = 3;
  spec.kv_heads = 2;
  EXPECT_THAT(validate(spec).error().message, HasSubstr("3 query heads"));
  spec = kScalar;
  spec.head = 0;
  EXPECT_THAT(validate(spec).error().message, HasSubstr("head:"));
  spec = kScalar;
  spec.scale = kNan;
  EXPECT_THAT(validate(spec).error().message, HasSubstr("scale"));
  spec = kScalar;
  spec.softcap = -1.0f;
  EXPECT_THAT(validate(spec).error().message, HasSubstr("softcap"));
}

}  // namespace
}  // namespace zllm::attention::gqa
