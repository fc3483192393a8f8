#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include <zllm/backend/capability/gqa.h>
#include <zllm/runtime/block/rotation.h>
#include <zllm/runtime/block/shape.h>
#include <zllm/runtime/block/weight_loader.h>
#include <zllm/weight/assembly/block_weights.h>

namespace zllm::runtime::block {

// Grouped-query attention with its projections, head norms and rotation.
template <backend::GqaBackend B>
class GqaBlock {
 public:
  using Tensor = typename B::Tensor;
  using Weight = typename B::Weight;
  using Job = backend::LinearJob<Tensor, Weight>;

  struct Weights {
    Weight query, key, value, output;
    std::optional<Weight> query_bias, key_bias, value_bias, output_bias, query_norm, key_norm;
  };

  static Result<Weights> load(WeightLoader<B>& loader, const weight::GqaWeights& views) {
    ZLLM_TRY(Weight query, loader.matrix(views.query));
    ZLLM_TRY(Weight key, loader.matrix(views.key));
    ZLLM_TRY(Weight value, loader.matrix(views.value));
    ZLLM_TRY(Weight output, loader.matrix(views.output));
    Weights weights{.query = std::move(query),
                    .key = std::move(key),
                    .value = std::move(value),
                    .output = std::move(output),
                    .query_bias = {},
                    .key_bias = {},
                    .value_bias = {},
                    .output_bias = {},
                    .query_norm = {},
                    .key_norm = {}};
    ZLLM_TRY(weights.query_bias, loader.vector(views.query_bias));
    ZLLM_TRY(weights.key_bias, loader.vector(views.key_bias));
    ZLLM_TRY(weights.value_bias, loader.vector(views.value_bias));
    ZLLM_TRY(weights.output_bias, loader.vector(views.output_bias));
    ZLLM_TRY(weights.query_norm, loader.vector(views.query_norm));
    ZLLM_TRY(weights.key_norm, loader.vector(views.key_norm));
    return weights;
  }

  static Result<GqaBlock> make(B& backend, const GqaShape& shape, std::uint32_t rows) {
    ZLLM_TRY(Tensor query, backend.tensor(rows, shape.query_heads * shape.head));
    ZLLM_TRY(Tensor key, backend.tensor(rows, shape.kv_heads * shape.head));
    ZLLM_TRY(Tensor value, backend.tensor(rows, shape.kv_heads * shape.head));
    ZLLM_TRY(Tensor attended, backend.tensor(rows, shape.query_heads * shape.head));
    return GqaBlock(shape, std::move(query), std::move(key), std::move(value), std::move(attended));
  }

  void set_rows(std::uint32_t rows) {
    for (Tensor *tensor : {&query_, &key_, &value_, &attended_}) {
      tensor->set_rows(rows);
    }
  }

  // What of its sequences a layer attends to.
  struct Context {
    typename B::PagedCache& cache;
    backend::PlaneId plane;
    std::span<const backend::PagedSegment> segments;
    std::uint32_t window = 0;  // keys that a query sees, itself included; 0 = all
  };

  // out (+)= attention of the rows of `in`, which are normalised.
  Status run(B& backend, const Weights& weights, const Context& context,
             const Rotation<B>& rotation, const Tensor& in, Tensor& out) {
    const Job projections[] = {
        {.weight = &weights.query, .bias = pointer(weights.query_bias), .out = &query_},
        {.weight = &weights.key, .bias = pointer(weights.key_bias), .out = &key_},
        {.weight = &weights.value, .bias = pointer(weights.value_bias), .out = &value_}};
    ZLLM_TRY(backend.linear(in, projections, backend::LinearOutput::replace));
    if (weights.query_norm) {
      ZLLM_TRY(backend.norm(query_, *weights.query_norm, shape_.norm_epsilon, query_));
      ZLLM_TRY(backend.norm(key_, *weights.key_norm, shape_.norm_epsilon, key_));
    }
    const rope::Pairing pairing = rotation.spec().pairing;
    ZLLM_TRY(rotation.turn(backend, shape_.head, 0, pairing, query_));
    ZLLM_TRY(rotation.turn(backend, shape_.head, 0, pairing, key_));
    const attention::gqa::Spec gqa{
        .query_heads = shape_.query_heads,
        .kv_heads = shape_.kv_heads,
        .head = shape_.head,
        .scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(shape_.head))),
        .window = context.window};
    ZLLM_TRY(backend.attend(context.cache, context.plane, gqa, context.segments, query_, key_,
                            value_, attended_));
    const Job output[] = {
        {.weight = &weights.output, .bias = pointer(weights.output_bias), .out = &out}};
    return backend.linear(attended_, output, backend::LinearOutput::accumulate);
  }

 private:
  GqaBlock(const GqaShape& shape, Tensor query, Tensor key, Tensor value, Tensor attended)
      : shape_(shape),
        query_(std::move(query)),
        key_(std::move(key)),
        value_(std::move(value)),
        attended_(std::move(attended)) {}

  GqaShape shape_;
  Tensor query_, key_, value_, attended_;
};

}  // namespace zllm::runtime::block
