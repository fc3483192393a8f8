#pragma once

#include <algorithm>
#include <utility>

#include <zllm/base/checked.h>
#include <zllm/base/text.h>
#include <zllm/runtime/dense/dense_model.h>
#include <zllm/runtime/memory_fit.h>

// Loading of DenseModel; included by dense_model-inl.h alone.
namespace zllm::runtime::dense {

template <backend::Backend B>
class Loader {
 public:
  using Weight = typename B::Weight;
  using View = encoding::WeightView;

  explicit Loader(B& backend) : backend_(backend) {}

  Result<Weight> matrix(const View& view, backend::MatrixUse use = {.as_product = true}) {
    return named(view, backend_.load_matrix(view, use));
  }

  Result<Weight> vector(const View& view) { return named(view, backend_.load_vector(view)); }

  Result<std::optional<Weight>> vector(const std::optional<View>& view) {
    if (!view) {
      return std::optional<Weight>();
    }
    ZLLM_TRY(Weight weight, vector(*view));
    return std::optional<Weight>(std::move(weight));
  }

  Result<Layer<B>> layer(const weight::DenseDecoderLayer& views) {
    ZLLM_TRY(Weight attention_norm, vector(views.attention_norm));
    ZLLM_TRY(Weight query, matrix(views.query));
    ZLLM_TRY(Weight key, matrix(views.key));
    ZLLM_TRY(Weight value, matrix(views.value));
    ZLLM_TRY(Weight output, matrix(views.output));
    ZLLM_TRY(Weight mlp_norm, vector(views.mlp_norm));
    ZLLM_TRY(Weight gate, matrix(views.gate));
    ZLLM_TRY(Weight up, matrix(views.up));
    ZLLM_TRY(Weight down, matrix(views.down));
    Layer<B> layer{.attention_norm = std::move(attention_norm),
                   .query = std::move(query),
                   .key = std::move(key),
                   .value = std::move(value),
                   .output = std::move(output),
                   .mlp_norm = std::move(mlp_norm),
                   .gate = std::move(gate),
                   .up = std::move(up),
                   .down = std::move(down)};
    ZLLM_TRY(layer.query_bias, vector(views.query_bias));
    ZLLM_TRY(layer.key_bias, vector(views.key_bias));
    ZLLM_TRY(layer.value_bias, vector(views.value_bias));
    ZLLM_TRY(layer.output_bias, vector(views.output_bias));
    ZLLM_TRY(layer.gate_bias, vector(views.gate_bias));
    ZLLM_TRY(layer.up_bias, vector(views.up_bias));
    ZLLM_TRY(layer.down_bias, vector(views.down_bias));
    ZLLM_TRY(layer.query_norm, vector(views.query_norm));
    ZLLM_TRY(layer.key_norm, vector(views.key_norm));
    return layer;
  }

 private:
  static Result<Weight> named(const View& view, Result<Weight> loaded) {
    if (!loaded.ok()) {
      return std::move(loaded).error().within(concat("tensor ", view.name));
    }
    return loaded;
  }

  B& backend_;
};

template <backend::Backend B>
Result<Workspace<B>> make_workspace(B& backend, const model_spec::DenseDecoder& spec,
                                    std::uint32_t rows) {
  const std::uint32_t angles = std::max(1u, spec.rope.rotated / 2);
  ZLLM_TRY(auto residual, backend.tensor(rows, spec.hidden));
  ZLLM_TRY(auto normed, backend.tensor(rows, spec.hidden));
  ZLLM_TRY(auto query, backend.tensor(rows, spec.query_heads * spec.head));
  ZLLM_TRY(auto key, backend.tensor(rows, spec.kv_heads * spec.head));
  ZLLM_TRY(auto value, backend.tensor(rows, spec.kv_heads * spec.head));
  ZLLM_TRY(auto attended, backend.tensor(rows, spec.query_heads * spec.head));
  ZLLM_TRY(auto gate, backend.tensor(rows, spec.intermediate));
  ZLLM_TRY(auto up, backend.tensor(rows, spec.intermediate));
  ZLLM_TRY(auto gated, backend.tensor(rows, spec.intermediate));
  ZLLM_TRY(auto cosine, backend.tensor(rows, angles));
  ZLLM_TRY(auto sine, backend.tensor(rows, angles));
  ZLLM_TRY(auto scores, backend.tensor(std::min(rows, kLogitRows), spec.vocabulary));
  return Workspace<B>{.residual = std::move(residual),
                      .normed = std::move(normed),
                      .query = std::move(query),
                      .key = std::move(key),
                      .value = std::move(value),
                      .attended = std::move(attended),
                      .gate = std::move(gate),
                      .up = std::move(up),
                      .gated = std::move(gated),
                      .cosine = std::move(cosine),
                      .sine = std::move(sine),
                      .scores = std::move(scores)};
}

// The cache of the model, sized to what the options ask and memory allows.
template <backend::GqaBackend B>
Result<std::pair<backend::PagedCacheSpec, MemoryFit>> fit_cache(
    const B& backend, const weight::DenseDecoderModel& model, const LoadOptions& options) {
  const model_spec::DenseDecoder& spec = model.spec;
  backend::PagedCacheSpec cache{.layers = spec.layers,
                                .kv_heads = spec.kv_heads,
                                .head = spec.head,
                                .type = options.kv_type,
                                .pages = 0};
  ZLLM_TRY(const MemoryFit fit,
           fit_memory({.weight_bytes = weight_bytes(model),
                       .state_bytes_per_row = backend.page_bytes(cache) / B::kPageTokens,
                       .workspace_bytes = workspace_bytes(spec, options.rows_per_round),
                       .max_positions = spec.max_positions},
                      options, backend.available_bytes()));
  const auto pages = checked_cast<std::uint32_t>(fit.cache_rows / B::kPageTokens + 1);
  if (!pages) {
    return Error{Code::invalid_argument,
                 concat("a cache of ", fit.cache_rows, " tokens is too large")};
  }
  cache.pages = *pages;
  return std::pair(cache, fit);
}

template <backend::GqaBackend B>
Result<std::unique_ptr<DenseModel<B>>> DenseModel<B>::load(B& backend,
                                                           const weight::DenseDecoderModel& model,
                                                           const LoadOptions& options) {
  const model_spec::DenseDecoder& spec = model.spec;
  ZLLM_TRY(backend::check_support(backend, requirements(model, options)));
  ZLLM_TRY(const auto fitted, fit_cache(backend, model, options));
  const auto& [cache_spec, fit] = fitted;
  const auto rows_per_round = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
      options.rows_per_round, 1, std::max<std::uint64_t>(fit.cache_rows, 1)));
  Loader<B> loader(backend);
  ZLLM_TRY(Weight embedding, loader.matrix(model.weights.embedding,
                                           {.as_table = true, .as_product = spec.tied_embeddings}));
  std::optional<Weight> head;
  if (!spec.tied_embeddings) {
    ZLLM_TRY(head, loader.matrix(model.weights.head));
  }
  ZLLM_TRY(Weight final_norm, loader.vector(model.weights.final_norm));
  std::vector<Layer<B>> layers;
  layers.reserve(spec.layers);
  for (const weight::DenseDecoderLayer& views : model.weights.layers) {
    ZLLM_TRY(Layer<B> layer, loader.layer(views));
    layers.push_back(std::move(layer));
  }
  ZLLM_TRY(Workspace<B> workspace, make_workspace(backend, spec, rows_per_round));
  ZLLM_TRY(auto cache, backend.paged_cache(cache_spec));
  ModelInfo info{
      .path = model.path,
      .architecture = spec.architecture,
      .backend = std::string(backend.name()),
      .layers = spec.layers,
      .limits = {.vocabulary = spec.vocabulary, .context = fit.context, .rows = rows_per_round},
      .parameter_count = parameter_count(model),
      .weight_bytes = weight_bytes(model),
      .bytes_per_token = matrix_bytes_per_token(model),
      .state_bytes_per_row = backend.page_bytes(cache_spec) / B::kPageTokens};
  return std::unique_ptr<DenseModel>(
      new DenseModel(backend, Parts{.spec = spec,
                                    .info = std::move(info),
                                    .embedding = std::move(embedding),
                                    .head = std::move(head),
                                    .final_norm = std::move(final_norm),
                                    .layers = std::move(layers),
                                    .workspace = std::move(workspace),
                                    .cache = std::move(cache),
                                    .cache_spec = cache_spec}));
}

}  // namespace zllm::runtime::dense
