#pragma once

#include <utility>

#include <zllm/runtime/block/recurrent_plan.h>
#include <zllm/runtime/block/stage.h>
#include <zllm/runtime/block/transaction.h>
#include <zllm/runtime/kimi_linear/kimi_linear.h>

// Bodies of KimiLinearModel; included by its composition files and tests alone.
namespace zllm::runtime::kimi_linear {

template <KimiLinearBackend B>
KimiLinearModel<B>::KimiLinearModel(B& backend, Parts parts, RecurrentStore<B> store)
    : backend_(backend),
      parts_(std::move(parts)),
      states_(backend, std::move(store), parts_.info.limits.context) {}

template <KimiLinearBackend B>
auto KimiLinearModel<B>::load_layers(block::WeightLoader<B>& loader,
                                     const weight::KimiLinearModel& model, StageRange stage)
    -> Result<std::vector<Layer>> {
  std::vector<Layer> layers;
  layers.reserve(stage.end - stage.first);
  std::uint32_t pages = 0;
  std::uint32_t slots = 0;
  for (std::uint32_t index = stage.first; index < stage.end; ++index) {
    const weight::KimiLinearLayer& views = model.layers[index];
    ZLLM_TRY(Weight attention_norm, loader.vector(views.attention_norm));
    ZLLM_TRY(Weight mlp_norm, loader.vector(views.mlp_norm));
    std::optional<std::variant<Linear, Full>> attention;
    if (const auto *delta = std::get_if<weight::DeltaAttentionWeights>(&views.attention)) {
      ZLLM_TRY(auto weights, block::DeltaBlock<B>::load(loader, *delta));
      attention = Linear{.weights = std::move(weights), .plane = backend::SlotPlaneId(slots++)};
    } else {
      ZLLM_TRY(auto weights, block::LatentBlock<B>::load(
                                 loader, std::get<weight::LatentAttentionWeights>(views.attention),
                                 model.spec.attention.mla));
      attention = Full{.weights = std::move(weights), .plane = backend::PlaneId(pages++)};
    }
    ZLLM_TRY(auto mlp, block::MixtureBlock<B>::load(loader, views.mlp));
    layers.push_back(Layer{.attention_norm = std::move(attention_norm),
                           .mlp_norm = std::move(mlp_norm),
                           .attention = std::move(*attention),
                           .mlp = std::move(mlp)});
  }
  return layers;
}

template <KimiLinearBackend B>
Result<std::unique_ptr<KimiLinearModel<B>>> KimiLinearModel<B>::load(
    B& backend, const weight::KimiLinearModel& model, const LoadOptions& options) {
  const model_spec::KimiLinear& spec = model.spec;
  ZLLM_TRY(const StageRange stage, resolve(options.stage, spec.layers));
  ZLLM_TRY(backend::check_support(backend, requirements(model, stage, options)));
  backend::PagedCacheSpec pages = cache_spec(spec, stage, options);
  backend::SlotCacheSpec slots = slot_spec(spec, stage);
  ZLLM_TRY(const block::CachePlan plan,
           block::plan_recurrent(backend, state_need(model, stage), pages, slots, options));
  const std::uint32_t rows = plan.states.rows_per_round;
  block::WeightLoader<B> loader(backend);
  ZLLM_TRY(auto ends,
           block::EndsBlock<B>::load(loader, model.ends, block::ends_shape(spec, stage), rows));
  ZLLM_TRY(auto layers, load_layers(loader, model, stage));
  ZLLM_TRY(auto delta, block::DeltaBlock<B>::make(backend, delta_shape(spec), rows));
  ZLLM_TRY(auto latent, block::LatentBlock<B>::make(backend, spec.attention, rows));
  ZLLM_TRY(auto mlp, block::MixtureBlock<B>::make(backend, spec.mixture, spec.hidden, rows));
  ZLLM_TRY(Tensor residual, backend.tensor(rows, spec.hidden));
  ZLLM_TRY(Tensor normed, backend.tensor(rows, spec.hidden));
  ZLLM_TRY(auto store, block::make_store(backend, pages, slots, options));
  Parts parts{.info = block::model_info(model, backend, stage, plan, inventory(model, stage)),
              .spec = spec,
              .ends = std::move(ends),
              .layers = std::move(layers),
              .delta = std::move(delta),
              .latent = std::move(latent),
              .mlp = std::move(mlp),
              .residual = std::move(residual),
              .normed = std::move(normed)};
  return std::unique_ptr<KimiLinearModel>(
      new KimiLinearModel(backend, std::move(parts), std::move(store)));
}

template <KimiLinearBackend B>
Result<RoundOutput> KimiLinearModel<B>::submit(const Round& round) {
  ZLLM_TRY(check_input(
      round, {.first_layer = parts_.info.first_layer, .streams = 1, .hidden = parts_.spec.hidden}));
  return block::transact(states_, parts_.info, round, [&] { return run(round); });
}

template <KimiLinearBackend B>
void KimiLinearModel<B>::set_rows(std::uint32_t rows) {
  parts_.residual.set_rows(rows);
  parts_.normed.set_rows(rows);
  parts_.delta.set_rows(rows);
  parts_.latent.set_rows(rows);
  parts_.mlp.set_rows(rows);
}

template <KimiLinearBackend B>
Result<RoundOutput> KimiLinearModel<B>::run(const Round& round) {
  auto& [info, spec, ends, layers, delta, latent, mlp, residual, normed] = parts_;
  ZLLM_TRY(const auto segments, states_.segments(round));
  ZLLM_TRY(const auto slot_segments, states_.slot_segments(round));
  set_rows(static_cast<std::uint32_t>(round.rows()));
  ZLLM_TRY(ends.enter(backend_, round, residual));
  constexpr auto kAccumulate = backend::LinearOutput::accumulate;
  for (const Layer& layer : layers) {
    ZLLM_TRY(backend_.norm(residual, layer.attention_norm, spec.norm_epsilon, normed));
    if (const Linear *linear = std::get_if<Linear>(&layer.attention)) {
      ZLLM_TRY(delta.run(backend_, linear->weights, states_.slots(), linear->plane, slot_segments,
                         normed, kAccumulate, residual));
    } else {
      const Full& full = std::get<Full>(layer.attention);
      ZLLM_TRY(latent.project(backend_, full.weights, normed));
      ZLLM_TRY(latent.attend(backend_, full.weights, states_.cache(), full.plane, segments,
                             kAccumulate, residual));
    }
    ZLLM_TRY(backend_.norm(residual, layer.mlp_norm, spec.norm_epsilon, normed));
    ZLLM_TRY(mlp.run(backend_, layer.mlp, normed, kAccumulate, residual));
  }
  return ends.leave(backend_, round, residual);
}

// From files to a loaded model; the whole of a composition file.
template <KimiLinearBackend B>
Result<LoadedModel> load(const weight::ModelFiles& files, B& backend, const LoadOptions& options) {
  return block::load_family<KimiLinearModel<B>>(files, backend, options,
                                                weight::assemble_kimi_linear);
}

}  // namespace zllm::runtime::kimi_linear
