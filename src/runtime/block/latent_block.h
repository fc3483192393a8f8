#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include <zllm/backend/capability/dsa.h>
#include <zllm/model_spec/latent_attention.h>
#include <zllm/runtime/block/weight_loader.h>
#include <zllm/weight/assembly/block_weights.h>

namespace zllm::runtime::block {

// Multi-head latent attention with its projections. A model turns query() and shared_key() between
// project() and an attend function where its positions are rotary.
template <backend::MlaBackend B>
class LatentBlock {
 public:
  using Tensor = typename B::Tensor;
  using Weight = typename B::Weight;
  using Job = backend::LinearJob<Tensor, Weight>;

  struct Weights {
    std::optional<Weight> query_down, query_down_bias, query_norm;
    Weight query, latent, latent_norm, output;
    std::optional<Weight> latent_bias, shared_key, shared_key_bias, output_bias;
    typename B::LatentUp up;
  };

  static Result<Weights> load(WeightLoader<B>& loader, const weight::LatentAttentionWeights& views,
                              const attention::mla::Spec& spec) {
    ZLLM_TRY(Weight query, loader.matrix(views.query));
    ZLLM_TRY(Weight latent, loader.matrix(views.latent));
    ZLLM_TRY(Weight latent_norm, loader.vector(views.latent_norm));
    ZLLM_TRY(Weight output, loader.matrix(views.output));
    const backend::LatentUpViews up_views{.fused = views.up_fused,
                                          .keys_transposed = views.up_keys_transposed,
                                          .values = views.up_values};
    const bool is_fused = views.up_fused.rows != 0;
    ZLLM_TRY(auto up, WeightLoader<B>::named(is_fused ? views.up_fused : views.up_keys_transposed,
                                             loader.backend().load_latent_up(up_views, spec)));
    Weights weights{.query_down = {},
                    .query_down_bias = {},
                    .query_norm = {},
                    .query = std::move(query),
                    .latent = std::move(latent),
                    .latent_norm = std::move(latent_norm),
                    .output = std::move(output),
                    .latent_bias = {},
                    .shared_key = {},
                    .shared_key_bias = {},
                    .output_bias = {},
                    .up = std::move(up)};
    ZLLM_TRY(weights.query_down, loader.matrix(views.query_down));
    ZLLM_TRY(weights.query_down_bias, loader.vector(views.query_down_bias));
    ZLLM_TRY(weights.query_norm, loader.vector(views.query_norm));
    ZLLM_TRY(weights.latent_bias, loader.vector(views.latent_bias));
    ZLLM_TRY(weights.shared_key, loader.matrix(views.shared_key));
    ZLLM_TRY(weights.shared_key_bias, loader.vector(views.shared_key_bias));
    ZLLM_TRY(weights.output_bias, loader.vector(views.output_bias));
    return weights;
  }

  static Result<LatentBlock> make(B& backend, const model_spec::LatentAttention& spec,
                                  std::uint32_t rows) {
    const attention::mla::Spec& mla = spec.mla;
    std::optional<Tensor> residual;
    if (spec.query_rank != 0) {
      ZLLM_TRY(residual, backend.tensor(rows, spec.query_rank));
    }
    ZLLM_TRY(Tensor query, backend.tensor(rows, mla.heads * (mla.nope + mla.rope)));
    ZLLM_TRY(Tensor latent, backend.tensor(rows, mla.latent));
    std::optional<Tensor> shared_key;
    if (mla.rope != 0) {
      ZLLM_TRY(shared_key, backend.tensor(rows, mla.rope));
    }
    ZLLM_TRY(Tensor attended, backend.tensor(rows, mla.heads * mla.value));
    return LatentBlock(spec, std::move(residual), std::move(query), std::move(latent),
                       std::move(shared_key), std::move(attended));
  }

  void set_rows(std::uint32_t rows) {
    for (Tensor *tensor : {&query_, &latent_, &attended_}) {
      tensor->set_rows(rows);
    }
    for (std::optional<Tensor> *tensor : {&residual_, &shared_key_}) {
      if (*tensor) {
        (*tensor)->set_rows(rows);
      }
    }
  }

  // Queries, latents and shared keys of the rows of `in`, which are normalised.
  Status project(B& backend, const Weights& weights, const Tensor& in) {
    Job down[3] = {
        {.weight = &weights.latent, .bias = pointer(weights.latent_bias), .out = &latent_}};
    std::size_t count = 1;
    if (shared_key_) {
      down[count++] = {.weight = pointer(weights.shared_key),
                       .bias = pointer(weights.shared_key_bias),
                       .out = &*shared_key_};
    }
    down[count++] = residual_ ? Job{.weight = pointer(weights.query_down),
                                    .bias = pointer(weights.query_down_bias),
                                    .out = &*residual_}
                              : Job{.weight = &weights.query, .bias = nullptr, .out = &query_};
    ZLLM_TRY(backend.linear(in, std::span(down).first(count), backend::LinearOutput::replace));
    ZLLM_TRY(backend.norm(latent_, weights.latent_norm, spec_.latent_norm_epsilon, latent_));
    if (!residual_) {
      return {};
    }
    ZLLM_TRY(backend.norm(*residual_, *weights.query_norm, spec_.latent_norm_epsilon, *residual_));
    const Job query[] = {{.weight = &weights.query, .bias = nullptr, .out = &query_}};
    return backend.linear(*residual_, query, backend::LinearOutput::replace);
  }

  Tensor& query() { return query_; }
  Tensor& shared_key() { return *shared_key_; }                // where rope is above 0
  const Tensor& query_residual() const { return *residual_; }  // normalised; where low rank

  // out (+)= attention over every key that a row sees.
  Status attend(B& backend, const Weights& weights, typename B::PagedCache& cache,
                backend::PlaneId plane, std::span<const backend::PagedSegment> segments,
                backend::LinearOutput output, Tensor& out) {
    ZLLM_TRY(
        backend.attend_latent(cache, plane, spec_.mla, segments, inputs(), weights.up, attended_));
    return project_out(backend, weights, output, out);
  }

  // out (+)= attention over the rows' selected positions.
  template <class Selection>
    requires backend::DsaBackend<B>
  Status attend_selected(B& backend, const Weights& weights, typename B::PagedCache& cache,
                         backend::PlaneId plane, std::span<const backend::PagedSegment> segments,
                         const Selection& selection, backend::LinearOutput output, Tensor& out) {
    ZLLM_TRY(backend.attend_selected(cache, plane, spec_.mla, segments, selection, inputs(),
                                     weights.up, attended_));
    return project_out(backend, weights, output, out);
  }

 private:
  LatentBlock(const model_spec::LatentAttention& spec, std::optional<Tensor> residual, Tensor query,
              Tensor latent, std::optional<Tensor> shared_key, Tensor attended)
      : spec_(spec),
        residual_(std::move(residual)),
        query_(std::move(query)),
        latent_(std::move(latent)),
        shared_key_(std::move(shared_key)),
        attended_(std::move(attended)) {}

  backend::LatentInputs<Tensor> inputs() const {
    return {.queries = &query_,
            .latents = &latent_,
            .shared_keys = shared_key_ ? &*shared_key_ : nullptr};
  }

  Status project_out(B& backend, const Weights& weights, backend::LinearOutput output,
                     Tensor& out) {
    const Job job[] = {
        {.weight = &weights.output, .bias = pointer(weights.output_bias), .out = &out}};
    return backend.linear(attended_, job, output);
  }

  model_spec::LatentAttention spec_;
  std::optional<Tensor> residual_;
  Tensor query_, latent_;
  std::optional<Tensor> shared_key_;
  Tensor attended_;
};

}  // namespace zllm::runtime::block
