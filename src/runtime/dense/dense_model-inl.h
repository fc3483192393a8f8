#pragma once

#include <utility>

#include <zllm/runtime/block/stage.h>
#include <zllm/runtime/block/transaction.h>
#include <zllm/runtime/dense/dense_model.h>

// Bodies of DenseModel; included by its composition files and tests alone.
namespace zllm::runtime::dense {

template <backend::GqaBackend B>
DenseModel<B>::DenseModel(B& backend, Parts parts, typename B::PagedCache cache,
                          const backend::PagedCacheSpec& cache_spec)
    : backend_(backend),
      parts_(std::move(parts)),
      states_(backend, std::move(cache), cache_spec, parts_.info.limits.context) {}

template <backend::GqaBackend B>
auto DenseModel<B>::load_layers(block::WeightLoader<B>& loader,
                                const weight::DenseDecoderModel& model, StageRange stage)
    -> Result<std::vector<Layer>> {
  std::vector<Layer> layers;
  layers.reserve(stage.end - stage.first);
  for (std::uint32_t index = stage.first; index < stage.end; ++index) {
    const weight::DenseDecoderLayer& views = model.layers[index];
    ZLLM_TRY(Weight attention_norm, loader.vector(views.attention_norm));
    ZLLM_TRY(Weight mlp_norm, loader.vector(views.mlp_norm));
    ZLLM_TRY(auto attention, block::GqaBlock<B>::load(loader, views.attention));
    ZLLM_TRY(auto mlp, block::MlpBlock<B>::load(loader, views.mlp));
    layers.push_back(Layer{.attention_norm = std::move(attention_norm),
                           .mlp_norm = std::move(mlp_norm),
                           .attention = std::move(attention),
                           .mlp = std::move(mlp),
                           .window = model.spec.windows[index]});
  }
  return layers;
}

template <backend::GqaBackend B>
Result<std::unique_ptr<DenseModel<B>>> DenseModel<B>::load(B& backend,
                                                           const weight::DenseDecoderModel& model,
                                                           const LoadOptions& options) {
  const model_spec::DenseDecoder& spec = model.spec;
  ZLLM_TRY(const StageRange stage, resolve(options.stage, spec.layers));
  ZLLM_TRY(backend::check_support(backend, requirements(model, stage, options)));
  backend::PagedCacheSpec pages = cache_spec(spec, stage, options);
  ZLLM_TRY(const block::CachePlan plan,
           block::plan_pages(backend, state_need(model, stage), pages, options));
  const std::uint32_t rows = plan.states.rows_per_round;
  block::WeightLoader<B> loader(backend);
  ZLLM_TRY(auto ends,
           block::EndsBlock<B>::load(loader, model.ends, block::ends_shape(spec, stage), rows));
  ZLLM_TRY(auto layers, load_layers(loader, model, stage));
  ZLLM_TRY(auto rotation, block::Rotation<B>::make(backend, spec.rope, rows));
  ZLLM_TRY(auto attention, block::GqaBlock<B>::make(backend, gqa_shape(spec), rows));
  ZLLM_TRY(auto mlp, block::MlpBlock<B>::make(backend, spec.intermediate, {}, rows));
  ZLLM_TRY(Tensor residual, backend.tensor(rows, spec.hidden));
  ZLLM_TRY(Tensor normed, backend.tensor(rows, spec.hidden));
  ZLLM_TRY(auto cache, backend.paged_cache(pages));
  Parts parts{.info = block::model_info(model, backend, stage, plan, inventory(model, stage)),
              .spec = spec,
              .ends = std::move(ends),
              .layers = std::move(layers),
              .rotation = std::move(rotation),
              .attention = std::move(attention),
              .mlp = std::move(mlp),
              .residual = std::move(residual),
              .normed = std::move(normed)};
  return std::unique_ptr<DenseModel>(
      new DenseModel(backend, std::move(parts), std::move(cache), pages));
}

template <backend::GqaBackend B>
Result<RoundOutput> DenseModel<B>::submit(const Round& round) {
  ZLLM_TRY(check_input(
      round, {.first_layer = parts_.info.first_layer, .streams = 1, .hidden = parts_.spec.hidden}));
  return block::transact(states_, parts_.info, round, [&] { return run(round); });
}

template <backend::GqaBackend B>
Result<RoundOutput> DenseModel<B>::run(const Round& round) {
  auto& [info, spec, ends, layers, rotation, attention, mlp, residual, normed] = parts_;
  const auto rows = static_cast<std::uint32_t>(round.rows());
  ZLLM_TRY(const auto segments, states_.segments(round));
  residual.set_rows(rows);
  normed.set_rows(rows);
  attention.set_rows(rows);
  mlp.set_rows(rows);
  ZLLM_TRY(rotation.prepare(backend_, round, states_.expected_rows(round)));
  ZLLM_TRY(ends.enter(backend_, round, residual));
  for (std::uint32_t index = 0; index < layers.size(); ++index) {
    const Layer& layer = layers[index];
    ZLLM_TRY(backend_.norm(residual, layer.attention_norm, spec.norm_epsilon, normed));
    ZLLM_TRY(attention.run(backend_, layer.attention,
                           {.cache = states_.cache(),
                            .plane = backend::PlaneId(index),
                            .segments = segments,
                            .window = layer.window},
                           rotation, normed, residual));
    ZLLM_TRY(backend_.norm(residual, layer.mlp_norm, spec.norm_epsilon, normed));
    ZLLM_TRY(mlp.run(backend_, layer.mlp, normed, backend::LinearOutput::accumulate, residual));
  }
  return ends.leave(backend_, round, residual);
}

// From files to a loaded model; the whole of a composition file.
template <backend::GqaBackend B>
Result<LoadedModel> load(const weight::ModelFiles& files, B& backend, const LoadOptions& options) {
  return block::load_family<DenseModel<B>>(files, backend, options, weight::assemble_dense_decoder);
}

}  // namespace zllm::runtime::dense
