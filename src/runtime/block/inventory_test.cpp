#include <zllm/runtime/block/inventory.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <zllm/runtime/block/state_plan.h>

namespace zllm::runtime::block {
namespace {

using encoding::WeightView;

constexpr std::size_t kFloats = 64;

WeightView matrix(std::uint64_t rows, std::uint64_t columns) {
  static const std::vector<std::byte> kZeros(kFloats * sizeof(float));
  return {.encoding = encoding::Encoding::f32,
          .rows = rows,
          .columns = columns,
          .bytes = std::span(kZeros).first(rows * columns * sizeof(float))};
}

TEST(Inventory, ARowReadsTheChosenExpertsAlone) {
  weight::ExpertWeights weights;
  weights.router = matrix(4, 8);
  for (int expert = 0; expert < 4; ++expert) {
    weights.gate.push_back(matrix(2, 8));
    weights.up.push_back(matrix(2, 8));
    weights.down.push_back(matrix(8, 2));
  }
  weights.shared =
      weight::MlpWeights{.gate = matrix(3, 8), .up = matrix(3, 8), .down = matrix(8, 3)};
  weights.shared_gate = matrix(1, 8);
  Inventory inventory;
  inventory.add(weight::MixtureWeights(weights), {.experts = 4, .top_k = 3});
  constexpr std::uint64_t kAlways = 4 * 8 + 3 * (3 * 8) + 8;
  constexpr std::uint64_t kExpert = 3 * (2 * 8);
  EXPECT_EQ(inventory.bytes_per_token(), 4 * (kAlways + 3 * kExpert));
  EXPECT_EQ(inventory.weight_bytes(), 4 * (kAlways + 4 * kExpert));
  EXPECT_EQ(inventory.parameter_count(), kAlways + 4 * kExpert);
}

TEST(StateReads, ASelectionBoundsTheLatentsThatARowReads) {
  const StateNeed need{.page_bytes = 3200,
                       .page_tokens = 32,
                       .index_page_bytes = 640,
                       .chosen_rows = 50,
                       .slot_bytes = 7};
  EXPECT_EQ(state_reads(need).bytes(10), 10 * (20 + 80) + 7U);
  EXPECT_EQ(state_reads(need).bytes(1000), 1000 * 20 + 50 * 80 + 7U);
}

TEST(StateReads, WithoutSelectionARowReadsAll) {
  const StateNeed need{.page_bytes = 3200, .page_tokens = 32};
  EXPECT_EQ(state_reads(need).bytes(1000), 1000 * 100U);
}

}  // namespace
}  // namespace zllm::runtime::block
