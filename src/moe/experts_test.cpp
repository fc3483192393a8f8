#include <zllm/moe/experts.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include <zllm/activation/reference.h>

namespace zllm::moe {
namespace {

using testing::ElementsAre;

constexpr activation::Spec kSwiglu{.gate = activation::Gate::swiglu};

std::vector<float> wave(std::size_t size, float step) {
  std::vector<float> result(size);
  for (std::size_t i = 0; i < size; ++i) {
    result[i] = std::sin(static_cast<float>(i) * step + step);
  }
  return result;
}

struct Layer {
  std::size_t experts = 7;
  std::size_t width = 5;
  std::size_t intermediate = 3;
  std::vector<float> gate = wave(experts * width * intermediate, 0.37f);
  std::vector<float> up = wave(experts * width * intermediate, 0.73f);
  std::vector<float> down = wave(experts * width * intermediate, 1.19f);

  ExpertWeights weights() const { return {gate, up, down, width, intermediate}; }
  std::vector<float> run(const Routing& routing, const std::vector<float>& input,
                         const activation::Spec& act = kSwiglu) const {
    std::vector<float> output(input.size(), std::nanf(""));
    apply(weights(), act, routing, input, output);
    return output;
  }
  // One expert's output of one row, unweighted.
  std::vector<double> alone(std::size_t expert, std::span<const float> row,
                            const activation::Spec& act) const {
    std::vector<double> joined(intermediate);
    const std::size_t begin = expert * width * intermediate;
    for (std::size_t i = 0; i < intermediate; ++i) {
      double g = 0.0;
      double u = 0.0;
      for (std::size_t j = 0; j < width; ++j) {
        g += static_cast<double>(gate[begin + i * width + j]) * static_cast<double>(row[j]);
        u += static_cast<double>(up[begin + i * width + j]) * static_cast<double>(row[j]);
      }
      joined[i] = activation::apply(act, g, u);
    }
    std::vector<double> result(width, 0.0);
    for (std::size_t j = 0; j < width; ++j) {
      for (std::size_t i = 0; i < intermediate; ++i) {
        result[j] += static_cast<double>(down[begin + j * intermediate + i]) * joined[i];
      }
    }
    return result;
  }
};

Routing some_routing(std::size_t rows) {
  const auto result = route({.experts = 7, .top_k = 3, .scaling = 2.5f}, wave(rows * 7, 2.9f), {});
  EXPECT_TRUE(result.ok());
  return *result;
}

TEST(Experts, ByHand) {
  // two experts of width 1; 40 and 80 are their own silu
  const std::vector<float> gate{20, 40};
  const std::vector<float> up{3, 5};
  const std::vector<float> down{1, -1};
  const ExpertWeights weights{gate, up, down, 1, 1};
  const Routing routing{.top_k = 2, .experts = {0, 1, 0, 1}, .weights = {0.5f, 0.25f, 0, 1}};
  std::vector<float> output(2);
  apply(weights, kSwiglu, routing, std::vector<float>{2, 4}, output);
  // 0.5 * 40 * 6 - 0.25 * 80 * 10, and -160 * 20
  EXPECT_THAT(output, ElementsAre(-80.0f, -3200.0f));
  const activation::Spec clamped{.gate = activation::Gate::clamped_swiglu, .limit = 7.0};
  apply(weights, clamped, routing, std::vector<float>{2, 4}, output);
  const double seven = activation::silu(7.0);
  EXPECT_FLOAT_EQ(output[0], static_cast<float>(0.5 * seven * 6 - 0.25 * seven * 7));
}

TEST(Experts, EqualsTheNaiveSum) {
  const Layer layer;
  const activation::Spec clamped{.gate = activation::Gate::clamped_swiglu, .limit = 0.5};
  for (const activation::Spec& act : {kSwiglu, clamped}) {
    for (const std::size_t rows : {0u, 1u, 2u, 11u}) {
      const Routing routing = some_routing(rows);
      const auto input = wave(rows * 5, 0.51f);
      const auto y = layer.run(routing, input, act);
      for (std::size_t row = 0; row < rows; ++row) {
        std::vector<double> sums(5, 0.0);
        for (std::size_t k = 0; k < 3; ++k) {
          const auto one =
              layer.alone(routing.experts[row * 3 + k], std::span(input).subspan(row * 5, 5), act);
          for (std::size_t j = 0; j < 5; ++j) {
            sums[j] += static_cast<double>(routing.weights[row * 3 + k]) * one[j];
          }
        }
        for (std::size_t j = 0; j < 5; ++j) {
          EXPECT_EQ(y[row * 5 + j], static_cast<float>(sums[j])) << row << " " << j;
        }
      }
    }
  }
}

TEST(Experts, ARowDoesNotDependOnOthers) {
  const Layer layer;
  const std::size_t rows = 9;
  const Routing routing = some_routing(rows);
  const auto input = wave(rows * 5, 0.51f);
  const auto whole = layer.run(routing, input);
  for (std::size_t row = 0; row < rows; ++row) {
    const auto slot = static_cast<std::ptrdiff_t>(row * 3);
    const auto lane = static_cast<std::ptrdiff_t>(row * 5);
    const Routing own{
        .top_k = 3,
        .experts = {routing.experts.begin() + slot, routing.experts.begin() + slot + 3},
        .weights = {routing.weights.begin() + slot, routing.weights.begin() + slot + 3}};
    const auto alone = layer.run(own, {input.begin() + lane, input.begin() + lane + 5});
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), whole.begin() + lane)) << row;
  }
}

TEST(Experts, UnchosenExpertsAreNotRead) {
  const Routing routing{.top_k = 1, .experts = {1, 5}, .weights = {1.0f, 2.0f}};
  const auto input = wave(10, 0.51f);
  const Layer layer;
  Layer spoiled = layer;
  for (std::size_t i = 0; i < spoiled.gate.size(); ++i) {
    const std::size_t expert = i / 15;
    if (expert != 1 && expert != 5) {
      spoiled.gate[i] = spoiled.up[i] = spoiled.down[i] = std::nanf("");
    }
  }
  EXPECT_EQ(spoiled.run(routing, input), layer.run(routing, input));
}

TEST(Experts, GroupsAreRowsOfEachExpertAscending) {
  const Routing routing{
      .top_k = 2, .experts = {1, 4, 0, 1, 1, 4}, .weights = std::vector<float>(6, 0.5f)};
  const auto groups = group_by_expert(routing, 6);
  EXPECT_THAT(groups.begins, ElementsAre(0, 1, 4, 4, 4, 6, 6));
  EXPECT_THAT(groups.slots, ElementsAre(2, 0, 3, 4, 1, 5));
}

TEST(Experts, GroupsOfNoRowsAndOfOne) {
  const auto none = group_by_expert({.top_k = 2, .experts = {}, .weights = {}}, 3);
  EXPECT_THAT(none.begins, ElementsAre(0, 0, 0, 0));
  EXPECT_TRUE(none.slots.empty());
  const auto one = group_by_expert({.top_k = 1, .experts = {2}, .weights = {1.0f}}, 3);
  EXPECT_THAT(one.begins, ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(one.slots, ElementsAre(0));
}

TEST(Experts, GroupsHoldEverySlotOnce) {
  const Routing routing = some_routing(23);
  const auto groups = group_by_expert(routing, 7);
  std::vector<int> seen(routing.experts.size(), 0);
  for (std::size_t expert = 0; expert < 7; ++expert) {
    for (std::size_t i = groups.begins[expert]; i < groups.begins[expert + 1]; ++i) {
      ++seen[groups.slots[i]];
      EXPECT_EQ(routing.experts[groups.slots[i]], expert);
      EXPECT_TRUE(i == groups.begins[expert] || groups.slots[i - 1] < groups.slots[i]);
    }
  }
  EXPECT_THAT(seen, testing::Each(1));
}

TEST(AddGated, WeighsEachRowByItsOwnGate) {
  const std::vector<float> rows = {1.0f, -2.0f, 4.0f, 8.0f, 3.0f, 3.0f};
  const std::vector<float> gates = {0.0f, -1000.0f, 1000.0f};
  std::vector<float> output = {10.0f, 10.0f, 1.0f, 1.0f, -1.0f, 0.0f};
  add_gated(rows, gates, 2, output);
  EXPECT_THAT(output, ElementsAre(10.5f, 9.0f, 1.0f, 1.0f, 2.0f, 3.0f));
}

}  // namespace
}  // namespace zllm::moe
