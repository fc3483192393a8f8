#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include <zllm/backend/capability/moe.h>
#include <zllm/model_spec/mixture.h>
#include <zllm/runtime/block/mlp_block.h>

namespace zllm::runtime::block {

// The feed-forward blocks of a decoder whose layers are dense or have routed experts, with or
// without shared ones.
template <backend::MoeBackend B>
class MixtureBlock {
 public:
  using Tensor = typename B::Tensor;
  using Weight = typename B::Weight;
  using Mlp = MlpBlock<B>;

  struct Sparse {
    Weight router;
    std::optional<Weight> selection_bias;
    typename B::Experts experts;
    std::optional<typename Mlp::Weights> shared;
    std::optional<Weight> shared_gate;
  };
  using Weights = std::variant<typename Mlp::Weights, Sparse>;

  static Result<Weights> load(WeightLoader<B>& loader, const weight::MixtureWeights& views) {
    if (const auto *dense = std::get_if<weight::MlpWeights>(&views)) {
      ZLLM_TRY(auto weights, Mlp::load(loader, *dense));
      return Weights(std::move(weights));
    }
    const auto& sparse = std::get<weight::ExpertWeights>(views);
    ZLLM_TRY(Weight router, loader.matrix(sparse.router));
    ZLLM_TRY(auto experts, WeightLoader<B>::named(
                               sparse.gate.front(),
                               loader.backend().load_experts(
                                   {.gate = sparse.gate, .up = sparse.up, .down = sparse.down})));
    Sparse weights{.router = std::move(router),
                   .selection_bias = {},
                   .experts = std::move(experts),
                   .shared = {},
                   .shared_gate = {}};
    ZLLM_TRY(weights.selection_bias, loader.vector(sparse.selection_bias));
    if (sparse.shared) {
      ZLLM_TRY(weights.shared, Mlp::load(loader, *sparse.shared));
    }
    ZLLM_TRY(weights.shared_gate, loader.matrix(sparse.shared_gate));
    return Weights(std::move(weights));
  }

  static Result<MixtureBlock> make(B& backend, const model_spec::Mixture& spec,
                                   std::uint32_t hidden, std::uint32_t rows) {
    std::optional<Mlp> dense;
    if (spec.dense_intermediate != 0) {
      ZLLM_TRY(dense, Mlp::make(backend, spec.dense_intermediate, spec.activation, rows));
    }
    std::optional<Mlp> shared;
    if (spec.shared_intermediate != 0) {
      ZLLM_TRY(shared, Mlp::make(backend, spec.shared_intermediate, spec.activation, rows));
    }
    std::optional<Gated> gated;
    if (spec.shared_gate) {
      ZLLM_TRY(Tensor joining, backend.tensor(rows, hidden));
      ZLLM_TRY(Tensor gate, backend.tensor(rows, 1));
      gated.emplace(Gated{.rows = std::move(joining), .gate = std::move(gate)});
    }
    ZLLM_TRY(Tensor scores, backend.tensor(rows, spec.router.experts));
    ZLLM_TRY(auto routing, backend.routing(rows, spec.router));
    return MixtureBlock(spec, std::move(dense), std::move(shared), std::move(gated),
                        std::move(scores), std::move(routing));
  }

  void set_rows(std::uint32_t rows) {
    for (std::optional<Mlp> *mlp : {&dense_, &shared_}) {
      if (*mlp) {
        (*mlp)->set_rows(rows);
      }
    }
    if (gated_) {
      gated_->rows.set_rows(rows);
      gated_->gate.set_rows(rows);
    }
    scores_.set_rows(rows);
  }

  // out (+)= the block of the rows of `in`.
  Status run(B& backend, const Weights& weights, const Tensor& in, backend::LinearOutput output,
             Tensor& out) {
    if (const auto *dense = std::get_if<typename Mlp::Weights>(&weights)) {
      return dense_->run(backend, *dense, in, output, out);
    }
    const Sparse& sparse = std::get<Sparse>(weights);
    const backend::LinearJob<Tensor, Weight> router[] = {
        {.weight = &sparse.router, .bias = nullptr, .out = &scores_}};
    ZLLM_TRY(backend.linear(in, router, backend::LinearOutput::replace));
    ZLLM_TRY(backend.route(spec_.router, scores_, pointer(sparse.selection_bias), routing_));
    ZLLM_TRY(backend.experts(in, sparse.experts, routing_, spec_.activation, output, out));
    if (!sparse.shared) {
      return {};
    }
    if (!sparse.shared_gate) {
      return shared_->run(backend, *sparse.shared, in, backend::LinearOutput::accumulate, out);
    }
    const backend::LinearJob<Tensor, Weight> gate[] = {
        {.weight = &*sparse.shared_gate, .bias = nullptr, .out = &gated_->gate}};
    ZLLM_TRY(backend.linear(in, gate, backend::LinearOutput::replace));
    ZLLM_TRY(
        shared_->run(backend, *sparse.shared, in, backend::LinearOutput::replace, gated_->rows));
    return backend.add_gated(gated_->rows, gated_->gate, out);
  }

 private:
  // What a gated shared expert gives, before it joins.
  struct Gated {
    Tensor rows, gate;
  };

  MixtureBlock(const model_spec::Mixture& spec, std::optional<Mlp> dense, std::optional<Mlp> shared,
               std::optional<Gated> gated, Tensor scores, typename B::Routing routing)
      : spec_(spec),
        dense_(std::move(dense)),
        shared_(std::move(shared)),
        gated_(std::move(gated)),
        scores_(std::move(scores)),
        routing_(std::move(routing)) {}

  model_spec::Mixture spec_;
  std::optional<Mlp> dense_;
  std::optional<Mlp> shared_;
  std::optional<Gated> gated_;
  Tensor scores_;
  typename B::Routing routing_;
};

}  // namespace zllm::runtime::block
