#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include <zllm/backend/capability/dsa.h>
#include <zllm/runtime/block/shape.h>
#include <zllm/runtime/block/weight_loader.h>
#include <zllm/weight/assembly/block_weights.h>

namespace zllm::runtime::block {

// The projections of an indexer: queries from the normalised query residual of latent attention,
// one key, the head weights and, with pooled keys, gates from the layer's normalised input. A model
// turns query() and key() where its positions are rotary, then selects with inputs().
template <backend::DsaBackend B>
class IndexerBlock {
 public:
  using Tensor = typename B::Tensor;
  using Weight = typename B::Weight;
  using Job = backend::LinearJob<Tensor, Weight>;

  struct Weights {
    Weight query, key, key_norm, key_norm_bias, weights;
    std::optional<Weight> gates, position_bias;
  };

  static Result<Weights> load(WeightLoader<B>& loader, const weight::IndexerWeights& views) {
    ZLLM_TRY(Weight query, loader.matrix(views.query));
    ZLLM_TRY(Weight key, loader.matrix(views.key));
    ZLLM_TRY(Weight key_norm, loader.vector(views.key_norm));
    ZLLM_TRY(Weight key_norm_bias, loader.vector(views.key_norm_bias));
    ZLLM_TRY(Weight head_weights, loader.matrix(views.weights));
    Weights weights{.query = std::move(query),
                    .key = std::move(key),
                    .key_norm = std::move(key_norm),
                    .key_norm_bias = std::move(key_norm_bias),
                    .weights = std::move(head_weights),
                    .gates = {},
                    .position_bias = {}};
    ZLLM_TRY(weights.gates, loader.matrix(views.gates));
    ZLLM_TRY(weights.position_bias, loader.vector(views.position_bias));
    return weights;
  }

  static Result<IndexerBlock> make(B& backend, const IndexerShape& shape, std::uint32_t rows) {
    const attention::sparse::IndexerSpec& spec = shape.indexer;
    ZLLM_TRY(Tensor query, backend.tensor(rows, spec.heads * spec.width));
    ZLLM_TRY(Tensor key, backend.tensor(rows, spec.width));
    ZLLM_TRY(Tensor weights, backend.tensor(rows, spec.heads));
    std::optional<Tensor> gates;
    if (shape.pool != 0) {
      ZLLM_TRY(gates, backend.tensor(rows, spec.width));
    }
    return IndexerBlock(shape.norm_epsilon, std::move(query), std::move(key), std::move(weights),
                        std::move(gates));
  }

  void set_rows(std::uint32_t rows) {
    for (Tensor *tensor : {&query_, &key_, &weights_}) {
      tensor->set_rows(rows);
    }
    if (gates_) {
      gates_->set_rows(rows);
    }
  }

  Status project(B& backend, const Weights& weights, const Tensor& in,
                 const Tensor& query_residual) {
    const Job query[] = {{.weight = &weights.query, .bias = nullptr, .out = &query_}};
    ZLLM_TRY(backend.linear(query_residual, query, backend::LinearOutput::replace));
    Job jobs[3] = {{.weight = &weights.key, .bias = nullptr, .out = &key_},
                   {.weight = &weights.weights, .bias = nullptr, .out = &weights_}};
    std::size_t count = 2;
    if (gates_) {
      jobs[count++] = {.weight = pointer(weights.gates), .bias = nullptr, .out = &*gates_};
    }
    ZLLM_TRY(backend.linear(in, std::span(jobs).first(count), backend::LinearOutput::replace));
    return backend.layer_norm(key_, weights.key_norm, weights.key_norm_bias, norm_epsilon_, key_);
  }

  Tensor& query() { return query_; }
  Tensor& key() { return key_; }

  backend::IndexInputs<Tensor> inputs() const {
    return {.queries = &query_,
            .keys = &key_,
            .weights = &weights_,
            .gates = gates_ ? &*gates_ : nullptr};
  }

 private:
  IndexerBlock(double norm_epsilon, Tensor query, Tensor key, Tensor weights,
               std::optional<Tensor> gates)
      : norm_epsilon_(norm_epsilon),
        query_(std::move(query)),
        key_(std::move(key)),
        weights_(std::move(weights)),
        gates_(std::move(gates)) {}

  double norm_epsilon_;
  Tensor query_, key_, weights_;
  std::optional<Tensor> gates_;
};

}  // namespace zllm::runtime::block
