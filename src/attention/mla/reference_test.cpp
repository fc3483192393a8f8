#include <zllm/attention/mla/reference.h>

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

namespace zllm::attention::mla {
namespace {

using testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

using Form = Status (*)(const Spec&, const Inputs&, std::span<float>);
constexpr Form kForms[] = {attend_expanded, attend_absorbed};

// One head, every width 1, no rope: scores are products, so softmaxes are easy by hand.
constexpr Spec kScalar{.heads = 1, .latent = 1, .nope = 1, .value = 1, .scale = 1.0f};

std::vector<float> run(Form form, const Spec& spec, const Inputs& inputs) {
  std::vector<float> output(inputs.query_positions.size() * spec.heads * spec.value, kNan);
  const Status status = form(spec, inputs, output);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  return output;
}

std::vector<float> wave(std::size_t size, float step) {
  std::vector<float> result(size);
  for (std::size_t i = 0; i < size; ++i) {
    result[i] = std::sin(static_cast<float>(i) * step + step) * 1.5f;
  }
  return result;
}

std::vector<std::uint64_t> first(std::size_t size) {
  std::vector<std::uint64_t> result(size);
  std::iota(result.begin(), result.end(), std::uint64_t{0});
  return result;
}

sparse::Selection selection(const std::vector<std::vector<std::uint32_t>>& rows) {
  sparse::Selection result;
  for (const auto& row : rows) {
    result.append_row(row);
  }
  return result;
}

// A layer with history, reproducible numbers and no symmetry.
struct Layer {
  explicit Layer(
      Spec of = {.heads = 3, .latent = 7, .nope = 5, .rope = 2, .value = 4, .scale = 0.6f},
      std::size_t keys = 11)
      : spec(of),
        count(keys),
        queries(wave(count * spec.heads * query(), 0.37f)),
        latents(wave(count * spec.latent, 0.73f)),
        shared_keys(wave(count * spec.rope, 1.19f)),
        up(wave(std::size_t{spec.heads} * (spec.nope + spec.value) * spec.latent, 0.91f)),
        positions(first(count)) {}

  std::size_t query() const { return std::size_t{spec.nope} + spec.rope; }
  std::size_t out() const { return std::size_t{spec.heads} * spec.value; }
  Inputs inputs() const { return part(0, count, count); }
  // Rows [begin, end) with the first `known` keys.
  Inputs part(std::size_t begin, std::size_t end, std::size_t known) const {
    const std::size_t row = spec.heads * query();
    return {.queries = std::span(queries).subspan(begin * row, (end - begin) * row),
            .query_positions = std::span(positions).subspan(begin, end - begin),
            .latents = std::span(latents).first(known * spec.latent),
            .shared_keys = std::span(shared_keys).first(known * spec.rope),
            .up = up};
  }

  Spec spec;
  std::size_t count;
  std::vector<float> queries;
  std::vector<float> latents;
  std::vector<float> shared_keys;
  std::vector<float> up;
  std::vector<std::uint64_t> positions;
};

TEST(Mla, TwoKeysByHand) {
  const std::vector<float> query{1.0f};
  const std::vector<std::uint64_t> position{1};
  // A = 2: scores 2 * (ln 3 / 2) and 0: weights 3/4 and 1/4; B = 8
  const std::vector<float> latents{std::log(3.0f) / 2.0f, 0.0f};
  const std::vector<float> up{2.0f, 8.0f};
  for (const Form form : kForms) {
    const auto y =
        run(form, kScalar,
            {.queries = query, .query_positions = position, .latents = latents, .up = up});
    EXPECT_FLOAT_EQ(y[0], 3.0f * std::log(3.0f));
  }
}

TEST(Mla, RopeLanesMeetTheSharedKeyAndTheScaleBoth) {
  Spec spec = kScalar;
  spec.rope = 1;
  spec.scale = 0.5f;
  // scores 0.5 * (1 * 3 c + 2 k): c = 0 and 2, k = ln 3 and -3: ln 3 and 0
  const std::vector<float> query{1.0f, 2.0f};
  const std::vector<std::uint64_t> position{1};
  const std::vector<float> latents{0.0f, 2.0f};
  const std::vector<float> shared_keys{std::log(3.0f), -3.0f};
  const std::vector<float> up{3.0f, 10.0f};
  for (const Form form : kForms) {
    // weights 3/4 and 1/4 of values 0 and 20
    EXPECT_FLOAT_EQ(run(form, spec, {query, position, latents, shared_keys, up})[0], 5.0f);
  }
}

TEST(Mla, RowsOfUpAreNopeThenValueOfEachHead) {
  const Spec spec{.heads = 2, .latent = 2, .nope = 2, .value = 1, .scale = 1.0f};
  // head 0: A = [1 2; 3 4], B = [10 1]; head 1: A = [0 0; 0 1], B = [0 5]
  const std::vector<float> up{1, 2, 3, 4, 10, 1, 0, 0, 0, 1, 0, 5};
  const float third = std::log(3.0f);
  // head 0: A^T (1, -1) = (-2, -2); head 1: A^T (7, 1) = (0, 1)
  const std::vector<float> queries{1, -1, 7, 1};
  const std::vector<std::uint64_t> position{1};
  const std::vector<float> latents{0.0f, 0.0f, third, -1.5f * third};
  // head 0: scores 0 and -2 ln 3 + 3 ln 3 = ln 3; value 10 ln 3 - 1.5 ln 3, weight 3/4
  // head 1: scores 0 and -1.5 ln 3: weight 1 / (1 + 3^1.5); value -7.5 ln 3
  for (const Form form : kForms) {
    const auto y =
        run(form, spec,
            {.queries = queries, .query_positions = position, .latents = latents, .up = up});
    EXPECT_FLOAT_EQ(y[0], 0.75f * 8.5f * third);
    EXPECT_FLOAT_EQ(y[1], -7.5f * third / (1.0f + std::pow(3.0f, 1.5f)));
  }
}

TEST(Mla, FirstRowReturnsItsOwnValue) {
  const Layer layer;
  for (const Form form : kForms) {
    const auto y = run(form, layer.spec, layer.inputs());
    for (std::size_t head = 0; head < 3; ++head) {
      for (std::size_t lane = 0; lane < 4; ++lane) {
        double value = 0.0;
        for (std::size_t i = 0; i < 7; ++i) {
          value += static_cast<double>(layer.up[(head * 9 + 5 + lane) * 7 + i]) *
                   static_cast<double>(layer.latents[i]);
        }
        EXPECT_EQ(y[head * 4 + lane], static_cast<float>(value));
      }
    }
  }
}

TEST(Mla, ExpandedEqualsAbsorbed) {
  const Spec specs[] = {
      {.heads = 1, .latent = 1, .nope = 1, .rope = 0, .value = 1, .scale = 1.0f},
      {.heads = 3, .latent = 7, .nope = 5, .rope = 2, .value = 4, .scale = 0.6f},
      {.heads = 2, .latent = 16, .nope = 8, .rope = 4, .value = 12, .scale = 0.3f},
      {.heads = 4, .latent = 33, .nope = 17, .rope = 0, .value = 17, .scale = 0.24f},
      {.heads = 5, .latent = 3, .nope = 9, .rope = 1, .value = 13, .scale = -0.5f},
      {.heads = 2, .latent = 5, .nope = 3, .rope = 7, .value = 1, .scale = 0.0f},
  };
  for (const Spec& spec : specs) {
    for (const std::size_t count : {1u, 2u, 13u}) {
      const Layer layer(spec, count);
      const auto expanded = run(attend_expanded, spec, layer.inputs());
      const auto absorbed = run(attend_absorbed, spec, layer.inputs());
      for (std::size_t i = 0; i < expanded.size(); ++i) {
        // both round an f64 sum once: neighbours in f32, but for sums near zero
        EXPECT_NEAR(absorbed[i], expanded[i], 1.2e-7f * std::abs(expanded[i]) + 1e-12f)
            << spec.heads << " " << count << " " << i;
      }
    }
  }
}

TEST(Mla, HugeScoresDoNotOverflow) {
  const std::vector<float> query{3e38f};
  const std::vector<std::uint64_t> position{2};
  const std::vector<float> latents{3e37f, -3e37f, 3e37f};
  const std::vector<float> up{3e38f, 2.0f};
  for (const Form form : kForms) {
    const auto y =
        run(form, kScalar,
            {.queries = query, .query_positions = position, .latents = latents, .up = up});
    EXPECT_FLOAT_EQ(y[0], 6e37f);
  }
}

TEST(Mla, RowsThatSeeNoKeyYieldZeros) {
  const Layer layer;
  Layer unread = layer;
  std::fill(unread.latents.begin(), unread.latents.end(), kNan);
  std::fill(unread.shared_keys.begin(), unread.shared_keys.end(), kInfinity);
  const sparse::Selection nothing = selection(std::vector<std::vector<std::uint32_t>>(11));
  Inputs masked = unread.inputs();
  masked.selection = &nothing;
  for (const Form form : kForms) {
    EXPECT_EQ(run(form, layer.spec, layer.part(0, 1, 0)), std::vector<float>(12, 0.0f));
    EXPECT_EQ(run(form, layer.spec, masked), std::vector<float>(11 * 12, 0.0f));
    EXPECT_TRUE(run(form, layer.spec, layer.part(0, 0, 11)).empty());
  }
}

TEST(Mla, LaterKeysChangeNothingAndAreNotRead) {
  const Layer layer;
  Layer changed = layer;
  std::fill(changed.latents.begin() + 7 * 7, changed.latents.end(), kNan);
  std::fill(changed.shared_keys.begin() + 7 * 2, changed.shared_keys.end(), kNan);
  for (const Form form : kForms) {
    EXPECT_EQ(run(form, changed.spec, changed.part(6, 7, 11)),
              run(form, layer.spec, layer.part(6, 7, 11)));
    // the row's own key counts
    Layer own = layer;
    own.latents[6 * 7] += 1.0f;
    EXPECT_NE(run(form, own.spec, own.part(6, 7, 11)), run(form, layer.spec, layer.part(6, 7, 11)));
  }
}

TEST(Mla, AnySplitEqualsTheWholeBitForBit) {
  const Layer layer;
  for (const Form form : kForms) {
    const auto whole = run(form, layer.spec, layer.inputs());
    for (std::size_t split = 1; split < 11; ++split) {
      auto joined = run(form, layer.spec, layer.part(0, split, split));
      const auto rest = run(form, layer.spec, layer.part(split, 11, 11));
      joined.insert(joined.end(), rest.begin(), rest.end());
      EXPECT_EQ(joined, whole) << split;
      const auto alone = run(form, layer.spec, layer.part(split, split + 1, split + 1));
      EXPECT_TRUE(std::equal(alone.begin(), alone.end(),
                             whole.begin() + static_cast<std::ptrdiff_t>(split * layer.out())));
    }
  }
}

TEST(Mla, HeadsInAnotherOrderGiveTheSameHeads) {
  const Layer layer;
  Layer turned = layer;
  const auto copy = [](const std::vector<float>& from, std::size_t at, std::vector<float>& to,
                       std::size_t into, std::size_t size) {
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(at * size), size,
                to.begin() + static_cast<std::ptrdiff_t>(into * size));
  };
  for (std::size_t head = 0; head < 3; ++head) {
    copy(layer.up, head, turned.up, (head + 1) % 3, 9 * 7);
    for (std::size_t row = 0; row < 11; ++row) {
      copy(layer.queries, row * 3 + head, turned.queries, row * 3 + (head + 1) % 3, 7);
    }
  }
  for (const Form form : kForms) {
    const auto y = run(form, layer.spec, layer.inputs());
    std::vector<float> expected(y.size());
    for (std::size_t i = 0; i < 33; ++i) {
      copy(y, i, expected, i / 3 * 3 + (i % 3 + 1) % 3, 4);
    }
    EXPECT_EQ(run(form, turned.spec, turned.inputs()), expected);
  }
}

TEST(Mla, ASelectionOfEverythingIsDenseBitForBit) {
  const Layer layer;
  const sparse::IndexerSpec indexer{.heads = 1, .width = 2, .top_k = 11};
  const auto queries = wave(22, 0.3f);
  const auto weights = wave(11, 0.5f);
  const auto all =
      sparse::select_keys(indexer, {queries, weights, layer.positions, layer.shared_keys}).value();
  Inputs inputs = layer.inputs();
  inputs.selection = &all;
  for (const Form form : kForms) {
    EXPECT_EQ(run(form, layer.spec, inputs), run(form, layer.spec, layer.inputs()));
  }
}

TEST(Mla, SelectedKeysAloneGiveTheSame) {
  const Layer layer;
  const std::vector<std::uint32_t> kept{1, 4, 5, 9};
  const sparse::Selection some = selection({kept});
  Layer spoiled = layer;
  std::vector<float> latents;
  std::vector<float> shared_keys;
  for (std::size_t key = 0; key < 11; ++key) {
    const auto latent = std::span(spoiled.latents).subspan(key * 7, 7);
    const auto shared = std::span(spoiled.shared_keys).subspan(key * 2, 2);
    if (std::find(kept.begin(), kept.end(), key) != kept.end()) {
      latents.insert(latents.end(), latent.begin(), latent.end());
      shared_keys.insert(shared_keys.end(), shared.begin(), shared.end());
    } else {
      std::fill(latent.begin(), latent.end(), kNan);  // not read
      std::fill(shared.begin(), shared.end(), kNan);
    }
  }
  Inputs inputs = spoiled.part(10, 11, 11);
  inputs.selection = &some;
  Inputs alone = layer.part(10, 11, 11);
  alone.latents = latents;
  alone.shared_keys = shared_keys;
  for (const Form form : kForms) {
    EXPECT_EQ(run(form, layer.spec, inputs), run(form, layer.spec, alone));
  }
}

TEST(Mla, ASelectionThatDoesNotFitIsRefused) {
  const Layer layer;
  const std::pair<const char *, sparse::Selection> cases[] = {
      {"1 rows for 2 query positions", selection({{0}})},
      {"row 1: position 4 is later than its query at 3", selection({{0}, {0, 4}})},
      {"row 1: position 3 is past the 3 keys", selection({{0}, {0, 3}})},
  };
  for (const Form form : kForms) {
    for (const auto& [reason, bad] : cases) {
      Inputs inputs = layer.part(2, 4, 3);
      inputs.selection = &bad;
      std::vector<float> output(24);
      const Status status = form(layer.spec, inputs, output);
      ASSERT_FALSE(status.ok()) << reason;
      EXPECT_THAT(status.error().message, HasSubstr(reason));
    }
  }
}

TEST(Mla, RefusesNumbersThatAreNotFiniteByName) {
  struct Case {
    std::string place;
    std::function<void(Layer&)> spoil;
  };
  const Case cases[] = {
      {"latent attention queries: row 1, head 2, lane 3 is NaN",
       [](Layer& l) { l.queries[21 + 14 + 3] = kNan; }},
      {"latent attention queries: row 0, head 0, lane 6 is infinite",
       [](Layer& l) { l.queries[6] = kInfinity; }},
      {"latent attention latents: row 2, lane 4 is infinite",
       [](Layer& l) { l.latents[18] = -kInfinity; }},
      {"latent attention shared keys: row 10, lane 1 is NaN",
       [](Layer& l) { l.shared_keys[21] = kNan; }},
      {"latent attention up: head 1, row 8, lane 6 is NaN",
       [](Layer& l) { l.up[(9 + 8) * 7 + 6] = kNan; }},
  };
  for (const Form form : kForms) {
    for (const Case& bad : cases) {
      Layer layer;
      bad.spoil(layer);
      std::vector<float> output(11 * 12);
      const Status status = form(layer.spec, layer.inputs(), output);
      ASSERT_FALSE(status.ok()) << bad.place;
      EXPECT_THAT(status.error().message, HasSubstr(bad.place));
    }
  }
}

TEST(Mla, ValidateNamesTheField) {
  const std::pair<const char *, std::function<void(Spec&)>> cases[] = {
      {"heads:", [](Spec& s) { s.heads = 0; }},    {"latent:", [](Spec& s) { s.latent = 0; }},
      {"nope:", [](Spec& s) { s.nope = 0; }},      {"value:", [](Spec& s) { s.value = 0; }},
      {"scale:", [](Spec& s) { s.scale = kNan; }}, {"scale:", [](Spec& s) { s.scale = kInfinity; }},
  };
  EXPECT_TRUE(validate(kScalar).ok());
  for (const auto& [field, spoil] : cases) {
    Spec spec = kScalar;
    spoil(spec);
    ASSERT_FALSE(validate(spec).ok()) << field;
    EXPECT_THAT(validate(spec).error().message, HasSubstr(field));
    for (const Form form : kForms) {
      EXPECT_FALSE(form(spec, {}, {}).ok());
    }
  }
}

}  // namespace
}  // namespace zllm::attention::mla
