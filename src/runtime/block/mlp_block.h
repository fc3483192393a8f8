#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include <zllm/activation/spec.h>
#include <zllm/backend/capability/backend.h>
#include <zllm/runtime/block/weight_loader.h>
#include <zllm/weight/assembly/block_weights.h>

namespace zllm::runtime::block {

// A gated feed-forward block, of one width or, in several layers, of widths up to that.
template <backend::Backend B>
class MlpBlock {
 public:
  using Tensor = typename B::Tensor;
  using Weight = typename B::Weight;
  using Job = backend::LinearJob<Tensor, Weight>;

  struct Weights {
    Weight gate, up, down;
    std::optional<Weight> gate_bias, up_bias, down_bias;
  };

  static Result<Weights> load(WeightLoader<B>& loader, const weight::MlpWeights& views) {
    ZLLM_TRY(Weight gate, loader.matrix(views.gate));
    ZLLM_TRY(Weight up, loader.matrix(views.up));
    ZLLM_TRY(Weight down, loader.matrix(views.down));
    Weights weights{.gate = std::move(gate),
                    .up = std::move(up),
                    .down = std::move(down),
                    .gate_bias = {},
                    .up_bias = {},
                    .down_bias = {}};
    ZLLM_TRY(weights.gate_bias, loader.vector(views.gate_bias));
    ZLLM_TRY(weights.up_bias, loader.vector(views.up_bias));
    ZLLM_TRY(weights.down_bias, loader.vector(views.down_bias));
    return weights;
  }

  static Result<MlpBlock> make(B& backend, std::uint32_t intermediate,
                               const activation::Spec& activation, std::uint32_t rows) {
    ZLLM_TRY(Tensor gate, backend.tensor(rows, intermediate));
    ZLLM_TRY(Tensor up, backend.tensor(rows, intermediate));
    return MlpBlock(activation, std::move(gate), std::move(up));
  }

  void set_rows(std::uint32_t rows) {
    gate_.set_rows(rows);
    up_.set_rows(rows);
  }

  // out (+)= the block of the rows of `in`.
  Status run(B& backend, const Weights& weights, const Tensor& in, backend::LinearOutput output,
             Tensor& out) {
    const Job projections[] = {
        {.weight = &weights.gate, .bias = pointer(weights.gate_bias), .out = &gate_},
        {.weight = &weights.up, .bias = pointer(weights.up_bias), .out = &up_}};
    ZLLM_TRY(backend.linear(in, projections, backend::LinearOutput::replace));
    ZLLM_TRY(backend.activate(activation_, gate_, up_, gate_));
    const Job down[] = {{.weight = &weights.down, .bias = pointer(weights.down_bias), .out = &out}};
    return backend.linear(gate_, down, output);
  }

 private:
  MlpBlock(const activation::Spec& activation, Tensor gate, Tensor up)
      : activation_(activation), gate_(std::move(gate)), up_(std::move(up)) {}

  activation::Spec activation_;
  Tensor gate_, up_;
};

}  // namespace zllm::runtime::block
