#pragma once

#include <cstddef>
#include <span>

#include <zllm/activation/spec.h>
#include <zllm/moe/routing.h>

// What routed experts compute: output[row] = sum over the row's experts e, ascending, of
//   weight * (down_e * act(gate_e * x, up_e * x))
// f32 in and out, f64 between. Grouped execution (gather the rows of an expert, one product for
// all, scatter-add) gives the same because a row's sum has one order.
namespace zllm::moe {

struct ExpertWeights {
  std::span<const float> gate;  // [experts, intermediate, width]
  std::span<const float> up;    // [experts, intermediate, width]
  std::span<const float> down;  // [experts, width, intermediate]
  std::size_t width = 0;
  std::size_t intermediate = 0;
};

// input and output [rows, width].
void apply(const ExpertWeights& weights, const activation::Spec& act, const Routing& routing,
           std::span<const float> input, std::span<float> output);

// output += sigmoid(gate) * rows, one gate a row: how a gated shared expert joins the routed ones
// (Qwen1.5-MoE, 2024). f32 in and out, f64 between.
void add_gated(std::span<const float> rows, std::span<const float> gates, std::size_t width,
               std::span<float> output);

// Rows of each expert, ascending: begins[e] .. begins[e + 1] index `slots`, whose entries number
// the routing's [rows, top_k] places.
struct ExpertRows {
  std::vector<std::uint32_t> begins;  // [experts + 1]
  std::vector<std::uint32_t> slots;   // [rows * top_k]
};
ExpertRows group_by_expert(const Routing& routing, std::uint32_t experts);

}  // namespace zllm::moe
