#include <zllm/rope/reference.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace zllm::rope {
namespace {

using testing::HasSubstr;

Spec plain(std::uint32_t rotated) {
  Spec spec;
  spec.rotated = rotated;
  return spec;
}

std::vector<float> ramp(std::size_t width) {
  std::vector<float> head(width);
  for (std::size_t lane = 0; lane < width; ++lane) {
    head[lane] = static_cast<float>(lane) * 0.25f - 1.0f;
  }
  return head;
}

double dot(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0.0;
  for (std::size_t lane = 0; lane < a.size(); ++lane) {
    sum += static_cast<double>(a[lane]) * static_cast<double>(b[lane]);
  }
  return sum;
}

// A quarter turn maps (x, y) to (-y, x).
TEST(Rope, PairingsByHand) {
  const std::vector<float> cosines{0.0f, 1.0f};
  const std::vector<float> sines{1.0f, 0.0f};
  std::vector<float> head{1.0f, 2.0f, 3.0f, 4.0f, 5.0f};
  rotate(head, cosines, sines, Pairing::half);
  EXPECT_EQ(head, (std::vector<float>{-3.0f, 2.0f, 1.0f, 4.0f, 5.0f}));
  head = {1.0f, 2.0f, 3.0f, 4.0f, 5.0f};
  rotate(head, cosines, sines, Pairing::adjacent);
  EXPECT_EQ(head, (std::vector<float>{-2.0f, 1.0f, 3.0f, 4.0f, 5.0f}));
}

TEST(Rope, PositionZeroAndLanesBeyondTheRotatedOnesStay) {
  const Table table = *make_table(plain(6), 0);
  for (const Pairing pairing : {Pairing::half, Pairing::adjacent}) {
    std::vector<float> head = ramp(10);
    rotate(head, 0, table, pairing);
    EXPECT_EQ(head, ramp(10));
    rotate(head, 12345, table, pairing);
    for (std::size_t lane = 6; lane < 10; ++lane) {
      EXPECT_EQ(head[lane], ramp(10)[lane]);
    }
    EXPECT_NE(head[0], ramp(10)[0]);
  }
}

TEST(Rope, AdjacentIsHalfOfPermutedLanes) {
  const Table table = *make_table(plain(8), 0);
  std::vector<float> adjacent = ramp(8);
  std::vector<float> half(8);
  for (std::size_t i = 0; i < 4; ++i) {
    half[i] = adjacent[2 * i];
    half[i + 4] = adjacent[2 * i + 1];
  }
  rotate(adjacent, 77, table, Pairing::adjacent);
  rotate(half, 77, table, Pairing::half);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(half[i], adjacent[2 * i]);
    EXPECT_EQ(half[i + 4], adjacent[2 * i + 1]);
  }
}

TEST(Rope, ScoresDependOnTheDistanceAlone) {
  const Table table = *make_table(plain(16), 0);
  for (const Pairing pairing : {Pairing::half, Pairing::adjacent}) {
    double first = 0.0;
    for (const std::uint64_t shift : {0u, 1u, 1000u, 1000000u}) {
      std::vector<float> query = ramp(16);
      std::vector<float> key = ramp(16);
      key[3] = 2.5f;
      rotate(query, shift + 9, table, pairing);
      rotate(key, shift + 4, table, pairing);
      if (shift == 0) {
        first = dot(query, key);
      }
      EXPECT_NEAR(dot(query, key), first, 1e-5) << shift;
    }
  }
}

TEST(Rope, AmplitudeMultipliesCosinesAndSines) {
  Table table = *make_table(plain(4), 0);
  table.amplitude = 3.0;
  std::vector<float> head{1.0f, 2.0f, 3.0f, 4.0f};
  rotate(head, 0, table, Pairing::half);
  EXPECT_EQ(head, (std::vector<float>{3.0f, 6.0f, 9.0f, 12.0f}));
}

TEST(Rope, DivisorsDivideTheFrequencies) {
  Spec spec = plain(4);
  const Table before = *make_table(spec, 0);
  spec.frequency_divisors = {1.0, 8.0};
  const Table after = *make_table(spec, 0);
  EXPECT_EQ(after.frequencies[0], before.frequencies[0]);
  EXPECT_EQ(after.frequencies[1], before.frequencies[1] / 8.0);
}

TEST(Rope, TableLengthIsOneExactlyWhereTablesAreEqual) {
  Spec dynamic = plain(8);
  dynamic.scaling = Scaling::dynamic;
  dynamic.factor = 2.0;
  dynamic.max_positions = 16;
  Spec longrope = plain(8);
  longrope.scaling = Scaling::longrope;
  longrope.original_positions = 16;
  longrope.short_factors = {1.0, 1.0, 1.0, 1.0};
  longrope.long_factors = {1.0, 2.0, 3.0, 4.0};
  Spec yarn = plain(8);
  yarn.scaling = Scaling::yarn;
  yarn.original_positions = 16;
  for (const Spec& spec : {plain(8), dynamic, longrope, yarn}) {
    for (std::uint64_t a = 0; a < 40; ++a) {
      const Table exact = *make_table(spec, a);
      EXPECT_EQ(make_table(spec, table_length(spec, a))->frequencies, exact.frequencies);
      const bool same = make_table(spec, a + 1)->frequencies == exact.frequencies;
      EXPECT_EQ(table_length(spec, a) == table_length(spec, a + 1), same) << a;
    }
  }
  EXPECT_EQ(table_length(dynamic, 16), 0u);
  EXPECT_EQ(table_length(dynamic, 17), 17u);
  EXPECT_EQ(table_length(longrope, 16), 0u);
  EXPECT_EQ(table_length(longrope, 99), 17u);
}

struct Refusal {
  std::string field;
  Scaling scaling;
  std::function<void(Spec&)> spoil;
};

TEST(Rope, RefusesEveryFieldByName) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<Refusal> refusals{
      {"rotated", Scaling::none, [](Spec& s) { s.rotated = 0; }},
      {"rotated", Scaling::none, [](Spec& s) { s.rotated = 7; }},
      {"rotated", Scaling::dynamic, [](Spec& s) { s.rotated = 2; }},
      {"theta", Scaling::none, [=](Spec& s) { s.theta = nan; }},
      {"theta", Scaling::none, [](Spec& s) { s.theta = 0.5; }},
      {"theta", Scaling::yarn, [](Spec& s) { s.theta = 1.0; }},
      {"factor", Scaling::linear, [](Spec& s) { s.factor = 0.0; }},
      {"factor", Scaling::linear, [=](Spec& s) { s.factor = infinity; }},
      {"max_positions", Scaling::dynamic, [](Spec& s) { s.max_positions = 0; }},
      {"original_positions", Scaling::llama3, [](Spec& s) { s.original_positions = 0; }},
      {"original_positions", Scaling::yarn, [](Spec& s) { s.original_positions = 0; }},
      {"original_positions", Scaling::longrope, [](Spec& s) { s.original_positions = 1; }},
      {"low_frequency_factor", Scaling::llama3, [=](Spec& s) { s.low_frequency_factor = nan; }},
      {"high_frequency_factor", Scaling::llama3, [](Spec& s) { s.high_frequency_factor = 1.0; }},
      {"beta_fast", Scaling::yarn, [](Spec& s) { s.beta_fast = -1.0; }},
      {"beta_fast", Scaling::yarn, [](Spec& s) { s.beta_fast = 0.5; }},
      {"beta_slow", Scaling::yarn, [=](Spec& s) { s.beta_slow = nan; }},
      {"mscale", Scaling::yarn, [=](Spec& s) { s.mscale = nan; }},
      {"mscale_all_dim", Scaling::yarn, [](Spec& s) { s.mscale_all_dim = -1.0; }},
      {"attention_factor", Scaling::yarn, [](Spec& s) { s.attention_factor = 0.0; }},
      {"short_factors", Scaling::longrope, [](Spec& s) { s.short_factors.pop_back(); }},
      {"long_factors", Scaling::longrope, [=](Spec& s) { s.long_factors[2] = nan; }},
      {"long_factors", Scaling::longrope, [](Spec& s) { s.long_factors[0] = 0.0; }},
      {"frequency_divisors", Scaling::none, [](Spec& s) { s.frequency_divisors = {1.0}; }},
      {"frequency_divisors", Scaling::llama3,
       [](Spec& s) { s.frequency_divisors = {1.0, 1.0, 1.0, 1.0}; }},
      {"frequencies", Scaling::none, [](Spec& s) { s.frequency_divisors = {1e-9, 1.0, 1.0, 1.0}; }},
  };
  for (const Refusal& refusal : refusals) {
    Spec spec = plain(8);
    spec.scaling = refusal.scaling;
    spec.max_positions = 64;
    spec.original_positions = 32;
    spec.short_factors = {1.0, 1.0, 1.0, 1.0};
    spec.long_factors = {1.0, 1.0, 1.0, 1.0};
    ASSERT_TRUE(make_table(spec, 100).ok());
    refusal.spoil(spec);
    const auto table = make_table(spec, 100);
    ASSERT_FALSE(table.ok()) << refusal.field;
    EXPECT_THAT(table.error().message, HasSubstr("rope " + refusal.field + ":"));
  }
}

}  // namespace
}  // namespace zllm::rope
