#pragma once

#include <utility>

#include <zllm/runtime/block/stage.h>
#include <zllm/runtime/block/transaction.h>
#include <zllm/runtime/gqa_moe/gqa_moe.h>

// Bodies of GqaMoeModel; included by its composition files and tests alone.
namespace zllm::runtime::gqa_moe {

template <GqaMoeBackend B>
GqaMoeModel<B>::GqaMoeModel(B& backend, Parts parts, typename B::PagedCache cache,
                            const backend::PagedCacheSpec& cache_spec)
    : backend_(backend),
      parts_(std::move(parts)),
      states_(backend, std::move(cache), cache_spec, parts_.info.limits.context) {}

template <GqaMoeBackend B>
auto GqaMoeModel<B>::load_layers(block::WeightLoader<B>& loader, const weight::GqaMoeModel& model,
                                 StageRange stage) -> Result<std::vector<Layer>> {
  std::vector<Layer> layers;
  layers.reserve(stage.end - stage.first);
  for (std::uint32_t index = stage.first; index < stage.end; ++index) {
    const weight::GqaMoeLayer& views = model.layers[index];
    ZLLM_TRY(Weight attention_norm, loader.vector(views.attention_norm));
    ZLLM_TRY(Weight mlp_norm, loader.vector(views.mlp_norm));
    ZLLM_TRY(auto attention, block::GqaBlock<B>::load(loader, views.attention));
    ZLLM_TRY(auto mlp, block::MixtureBlock<B>::load(loader, views.mlp));
    layers.push_back(Layer{.attention_norm = std::move(attention_norm),
                           .mlp_norm = std::move(mlp_norm),
                           .attention = std::move(attention),
                           .mlp = std::move(mlp)});
  }
  return layers;
}

template <GqaMoeBackend B>
Result<std::unique_ptr<GqaMoeModel<B>>> GqaMoeModel<B>::load(B& backend,
                                                             const weight::GqaMoeModel& model,
                                                             const LoadOptions& options) {
  const model_spec::GqaMoe& spec = model.spec;
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
  ZLLM_TRY(auto mlp, block::MixtureBlock<B>::make(backend, spec.mixture, spec.hidden, rows));
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
  return std::unique_ptr<GqaMoeModel>(
      new GqaMoeModel(backend, std::move(parts), std::move(cache), pages));
}

template <GqaMoeBackend B>
Result<RoundOutput> GqaMoeModel<B>::submit(const Round& round) {
  ZLLM_TRY(check_input(
      round, {.first_layer = parts_.info.first_layer, .streams = 1, .hidden = parts_.spec.hidden}));
  return block::transact(states_, parts_.info, round, [&] { return run(round); });
}

template <GqaMoeBackend B>
Result<RoundOutput> GqaMoeModel<B>::run(const Round& round) {
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
                            .window = spec.window},
                           rotation, normed, residual));
    ZLLM_TRY(backend_.norm(residual, layer.mlp_norm, spec.norm_epsilon, normed));
    ZLLM_TRY(mlp.run(backend_, layer.mlp, normed, backend::LinearOutput::accumulate, residual));
  }
  return ends.leave(backend_, round, residual);
}

// From files to a loaded model; the whole of a composition file.
template <GqaMoeBackend B>
Result<LoadedModel> load(const weight::ModelFiles& files, B& backend, const LoadOptions& options) {
  return block::load_family<GqaMoeModel<B>>(files, backend, options, weight::assemble_gqa_moe);
}

}  // namespace zllm::runtime::gqa_moe
