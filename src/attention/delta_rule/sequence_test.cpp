#include <zllm/attention/delta_rule/reference.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace zllm::attention::delta_rule {
namespace {

// How much chunked() may differ from recurrent(), of the largest magnitude that either gives: both
// sum in f64, but recurrent() rounds the state to f32 after each row.
constexpr float kBound = 4e-7f;

std::vector<float> wave(std::size_t size, float step, float height) {
  std::vector<float> result(size);
  for (std::size_t i = 0; i < size; ++i) {
    result[i] = std::sin(static_cast<float>(i) * step + step) * height;
  }
  return result;
}

struct Layer {
  Spec spec;
  std::size_t rows;
  std::vector<float> taps = wave(channels(spec) * spec.taps, 0.37f, 0.8f);
  std::vector<float> rates = wave(spec.value_heads, 1.3f, 0.7f);
  std::vector<float> bias = wave(decays(spec), 0.71f, 1.0f);
  std::vector<float> mixed = wave(rows * channels(spec), 0.93f, 3.0f);
  std::vector<float> decay = wave(rows * decays(spec), 0.59f, 2.0f);
  std::vector<float> beta = wave(rows * spec.value_heads, 2.1f, 3.0f);

  Inputs inputs(std::size_t begin, std::size_t count) const {
    return {std::span(mixed).subspan(begin * channels(spec), count * channels(spec)),
            std::span(decay).subspan(begin * decays(spec), count * decays(spec)),
            std::span(beta).subspan(begin * spec.value_heads, count * spec.value_heads)};
  }
  // Rows [begin, begin + count); chunk 0 is the recurrent form.
  std::vector<float> run(std::size_t begin, std::size_t count, std::size_t chunk,
                         State& state) const {
    std::vector<float> output(count * spec.value_heads * spec.value_width);
    const Weights weights{taps, rates, bias};
    const Status status = chunk == 0
                              ? recurrent(spec, weights, inputs(begin, count), state, output)
                              : chunked(spec, weights, inputs(begin, count), chunk, state, output);
    EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
    return output;
  }
};

Spec kimi() {
  return {.key_heads = 3,
          .value_heads = 3,
          .key_width = 5,
          .value_width = 3,
          .taps = 4,
          .decay_gate = DecayGate::bounded,
          .lower_bound = -5.0f};
}

Spec gated_delta_net() {
  return {.key_heads = 2,
          .value_heads = 4,
          .key_width = 4,
          .value_width = 3,
          .taps = 4,
          .decay_width = DecayWidth::head};
}

void expect_near(const std::vector<float>& got, const std::vector<float>& expected,
                 const std::string& what) {
  float largest = 0.0f;
  for (const float value : expected) {
    largest = std::max(largest, std::abs(value));
  }
  float worst = 0.0f;
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_TRUE(std::isfinite(got[i])) << what;
    worst = std::max(worst, std::abs(got[i] - expected[i]));
  }
  EXPECT_LE(worst, kBound * largest) << what << ": " << worst / largest;
}

void expect_chunks_equal_rows(const Layer& layer, std::size_t rows) {
  State expected_state = initial_state(layer.spec);
  const auto expected = layer.run(0, rows, 0, expected_state);
  for (const std::size_t chunk : {1u, 3u, 16u, 64u}) {
    const auto what = std::to_string(rows) + " rows in chunks of " + std::to_string(chunk);
    State state = initial_state(layer.spec);
    expect_near(layer.run(0, rows, chunk, state), expected, what);
    expect_near(state.matrices, expected_state.matrices, what);
    EXPECT_EQ(state.tail, expected_state.tail) << what;
  }
}

constexpr std::size_t kLengths[] = {1, 3, 4, 5, 63, 64, 65, 70, 129};

TEST(DeltaRuleSequence, ChunkedEqualsRecurrent) {
  for (const DecayWidth width : {DecayWidth::channel, DecayWidth::head}) {
    for (const DecayGate gate : {DecayGate::softplus, DecayGate::bounded}) {
      for (Spec spec : {kimi(), gated_delta_net()}) {
        spec.decay_width = width;
        spec.decay_gate = gate;
        spec.lower_bound = -5.0f;
        const Layer layer{.spec = spec, .rows = 129};
        for (const std::size_t rows : kLengths) {
          expect_chunks_equal_rows(layer, rows);
        }
      }
    }
  }
}

// c reaches -320 within a chunk of 64: exp(-c) would overflow f32 and what is left of exp(c) is
// nothing.
TEST(DeltaRuleSequence, ChunkedEqualsRecurrentUnderStrongestDecay) {
  Layer layer{.spec = kimi(), .rows = 129};
  std::fill(layer.decay.begin(), layer.decay.end(), 50.0f);
  for (const std::size_t rows : kLengths) {
    expect_chunks_equal_rows(layer, rows);
  }
}

TEST(DeltaRuleSequence, OneRowThatForgetsEverythingDoesNotDrownTheDecaysAfterIt) {
  Layer layer{.spec = gated_delta_net(), .rows = 70};
  std::fill_n(layer.decay.begin() + 8 * 4, 4, 1e30f);
  std::fill(layer.decay.begin() + 9 * 4, layer.decay.end(), -6.0f);
  expect_chunks_equal_rows(layer, 70);
}

TEST(DeltaRuleSequence, WithoutDecayNothingIsForgotten) {
  Layer layer{.spec = gated_delta_net(), .rows = 129};
  std::fill(layer.decay.begin(), layer.decay.end(), -1000.0f);
  expect_chunks_equal_rows(layer, 129);
}

TEST(DeltaRuleSequence, AnySplitEqualsTheWholeBitForBit) {
  for (Spec spec : {kimi(), gated_delta_net()}) {
    for (const std::uint32_t taps : {1u, 2u, 4u, 9u}) {
      spec.taps = taps;
      const Layer layer{.spec = spec, .rows = 11};
      State whole_state = initial_state(spec);
      const auto whole = layer.run(0, 11, 0, whole_state);
      for (std::size_t split = 0; split <= 11; ++split) {
        State state = initial_state(spec);
        auto joined = layer.run(0, split, 0, state);
        const auto rest = layer.run(split, 11 - split, 0, state);
        joined.insert(joined.end(), rest.begin(), rest.end());
        EXPECT_EQ(joined, whole) << split;
        EXPECT_EQ(state, whole_state) << split;
      }
      State state = initial_state(spec);
      std::vector<float> alone;
      for (std::size_t row = 0; row < 11; ++row) {
        const auto one = layer.run(row, 1, 0, state);
        alone.insert(alone.end(), one.begin(), one.end());
      }
      EXPECT_EQ(alone, whole);
      EXPECT_EQ(state, whole_state);
    }
  }
}

TEST(DeltaRuleSequence, ChunksCutAtTheirEdgesCarryTheStateBitForBit) {
  const Layer layer{.spec = kimi(), .rows = 70};
  State whole_state = initial_state(layer.spec);
  const auto whole = layer.run(0, 70, 16, whole_state);
  State state = initial_state(layer.spec);
  auto joined = layer.run(0, 32, 16, state);
  const auto rest = layer.run(32, 38, 16, state);
  joined.insert(joined.end(), rest.begin(), rest.end());
  EXPECT_EQ(joined, whole);
  EXPECT_EQ(state, whole_state);
}

TEST(DeltaRuleSequence, LaterRowsChangeNothing) {
  const Layer layer{.spec = kimi(), .rows = 20};
  State few = initial_state(layer.spec);
  State many = initial_state(layer.spec);
  const auto first = layer.run(0, 7, 16, few);
  const auto all = layer.run(0, 20, 16, many);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), all.begin()));
}

// The columns of one value head and its key head within the rows of a layer.
Layer head_alone(const Layer& layer, std::size_t head) {
  Layer one{.spec = layer.spec, .rows = layer.rows};
  one.spec.key_heads = 1;
  one.spec.value_heads = 1;
  const std::size_t keys = layer.spec.key_width;
  const std::size_t values = layer.spec.value_width;
  const std::size_t key_head = head / (layer.spec.value_heads / layer.spec.key_heads);
  const std::size_t own_decays = decays(one.spec);
  one.taps.clear();
  one.mixed.clear();
  one.decay.clear();
  one.beta.clear();
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < 2 * keys; ++i) {
    columns.push_back((i / keys * layer.spec.key_heads + key_head) * keys + i % keys);
  }
  for (std::size_t i = 0; i < values; ++i) {
    columns.push_back(2 * layer.spec.key_heads * keys + head * values + i);
  }
  for (const std::size_t column : columns) {
    for (std::size_t tap = 0; tap < layer.spec.taps; ++tap) {
      one.taps.push_back(layer.taps[column * layer.spec.taps + tap]);
    }
  }
  one.rates = {layer.rates[head]};
  one.bias.assign(layer.bias.begin() + static_cast<std::ptrdiff_t>(head * own_decays),
                  layer.bias.begin() + static_cast<std::ptrdiff_t>((head + 1) * own_decays));
  for (std::size_t row = 0; row < layer.rows; ++row) {
    for (const std::size_t column : columns) {
      one.mixed.push_back(layer.mixed[row * channels(layer.spec) + column]);
    }
    for (std::size_t i = 0; i < own_decays; ++i) {
      one.decay.push_back(layer.decay[row * decays(layer.spec) + head * own_decays + i]);
    }
    one.beta.push_back(layer.beta[row * layer.spec.value_heads + head]);
  }
  return one;
}

TEST(DeltaRuleSequence, AValueHeadReadsItsOwnDecayAndTheKeyHeadOfItsGroup) {
  for (const DecayWidth width : {DecayWidth::channel, DecayWidth::head}) {
    Spec spec = gated_delta_net();
    spec.decay_width = width;
    const Layer layer{.spec = spec, .rows = 9};
    for (const std::size_t chunk : {0u, 4u}) {
      State state = initial_state(spec);
      const auto all = layer.run(0, 9, chunk, state);
      for (std::size_t head = 0; head < 4; ++head) {
        const Layer one = head_alone(layer, head);
        State own = initial_state(one.spec);
        const auto alone = one.run(0, 9, chunk, own);
        for (std::size_t i = 0; i < alone.size(); ++i) {
          EXPECT_EQ(alone[i], all[(i / 3 * 4 + head) * 3 + i % 3]) << head << " " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace zllm::attention::delta_rule
