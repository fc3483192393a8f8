#pragma once

#include <utility>

#include <zllm/runtime/block/stage.h>
#include <zllm/runtime/block/transaction.h>
#include <zllm/runtime/mla_moe/mla_moe.h>

// Bodies of MlaMoeModel; included by its composition files and tests alone.
namespace zllm::runtime::mla_moe {

template <MlaMoeBackend B>
MlaMoeModel<B>::MlaMoeModel(B& backend, Parts parts, typename B::PagedCache cache,
                            const backend::PagedCacheSpec& cache_spec)
    : backend_(backend),
      parts_(std::move(parts)),
      states_(backend, std::move(cache), cache_spec, parts_.info.limits.context) {}

template <MlaMoeBackend B>
auto MlaMoeModel<B>::load_layers(block::WeightLoader<B>& loader, const weight::MlaMoeModel& model,
                                 StageRange stage) -> Result<std::vector<Layer>> {
  std::vector<Layer> layers;
  layers.reserve(stage.end - stage.first);
  std::uint32_t planes = 0;
  for (std::uint32_t index = stage.first; index < stage.end; ++index) {
    const weight::MlaMoeLayer& views = model.layers[index];
    ZLLM_TRY(Weight attention_norm, loader.vector(views.attention_norm));
    ZLLM_TRY(Weight mlp_norm, loader.vector(views.mlp_norm));
    ZLLM_TRY(auto attention,
             block::LatentBlock<B>::load(loader, views.attention, model.spec.attention.mla));
    std::optional<typename block::IndexerBlock<B>::Weights> indexer;
    if (views.indexer) {
      ZLLM_TRY(indexer, block::IndexerBlock<B>::load(loader, *views.indexer));
    }
    ZLLM_TRY(auto mlp, block::MixtureBlock<B>::load(loader, views.mlp));
    const std::uint32_t own_planes = indexer ? 2 : 1;
    layers.push_back(Layer{.attention_norm = std::move(attention_norm),
                           .mlp_norm = std::move(mlp_norm),
                           .attention = std::move(attention),
                           .indexer = std::move(indexer),
                           .mlp = std::move(mlp),
                           .is_sparse = model.spec.indexers[index] != model_spec::IndexerKind::none,
                           .latents = backend::PlaneId(planes),
                           .index_keys = backend::PlaneId(planes + 1)});
    planes += own_planes;
  }
  return layers;
}

template <MlaMoeBackend B>
Result<std::unique_ptr<MlaMoeModel<B>>> MlaMoeModel<B>::load(B& backend,
                                                             const weight::MlaMoeModel& model,
                                                             const LoadOptions& options) {
  const model_spec::MlaMoe& spec = model.spec;
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
  ZLLM_TRY(auto attention, block::LatentBlock<B>::make(backend, spec.attention, rows));
  std::optional<Sparse> sparse;
  if (std::ranges::any_of(layers, &Layer::is_sparse)) {
    ZLLM_TRY(auto indexer, block::IndexerBlock<B>::make(backend, indexer_shape(spec), rows));
    ZLLM_TRY(auto selection, backend.selection(rows, spec.indexer.top_k));
    sparse.emplace(Sparse{.indexer = std::move(indexer), .selection = std::move(selection)});
  }
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
              .sparse = std::move(sparse),
              .mlp = std::move(mlp),
              .residual = std::move(residual),
              .normed = std::move(normed)};
  return std::unique_ptr<MlaMoeModel>(
      new MlaMoeModel(backend, std::move(parts), std::move(cache), pages));
}

template <MlaMoeBackend B>
Result<RoundOutput> MlaMoeModel<B>::submit(const Round& round) {
  ZLLM_TRY(
      check_input(round, {.first_layer = parts_.info.first_layer,
                          .streams = 1,
                          .hidden = parts_.spec.hidden,
                          .selection = shares_selection(parts_.spec, parts_.info.first_layer)}));
  return block::transact(states_, parts_.info, round, [&] { return run(round); });
}

template <MlaMoeBackend B>
Result<RoundOutput> MlaMoeModel<B>::run(const Round& round) {
  ZLLM_TRY(const auto segments, states_.segments(round));
  ZLLM_TRY(begin(round));
  const double epsilon = parts_.spec.norm_epsilon;
  for (const Layer& layer : parts_.layers) {
    ZLLM_TRY(backend_.norm(parts_.residual, layer.attention_norm, epsilon, parts_.normed));
    ZLLM_TRY(attend(layer, segments));
    ZLLM_TRY(backend_.norm(parts_.residual, layer.mlp_norm, epsilon, parts_.normed));
    ZLLM_TRY(parts_.mlp.run(backend_, layer.mlp, parts_.normed, backend::LinearOutput::accumulate,
                            parts_.residual));
  }
  return finish(round);
}

// The rows that enter the stage, their angles and the selection that came with them.
template <MlaMoeBackend B>
Status MlaMoeModel<B>::begin(const Round& round) {
  const auto rows = static_cast<std::uint32_t>(round.rows());
  parts_.residual.set_rows(rows);
  parts_.normed.set_rows(rows);
  parts_.attention.set_rows(rows);
  parts_.mlp.set_rows(rows);
  ZLLM_TRY(parts_.rotation.prepare(backend_, round, states_.expected_rows(round)));
  if (parts_.sparse) {
    parts_.sparse->indexer.set_rows(rows);
    if (round.input && round.input->selection) {
      ZLLM_TRY(backend_.write_selection(*round.input->selection, parts_.sparse->selection));
    }
  }
  return parts_.ends.enter(backend_, round, parts_.residual);
}

template <MlaMoeBackend B>
Status MlaMoeModel<B>::attend(const Layer& layer, std::span<const backend::PagedSegment> segments) {
  block::LatentBlock<B>& attention = parts_.attention;
  const attention::mla::Spec& mla = parts_.spec.attention.mla;
  const rope::Pairing pairing = parts_.spec.rope.pairing;
  ZLLM_TRY(attention.project(backend_, layer.attention, parts_.normed));
  ZLLM_TRY(
      parts_.rotation.turn(backend_, mla.nope + mla.rope, mla.nope, pairing, attention.query()));
  ZLLM_TRY(parts_.rotation.turn(backend_, mla.rope, 0, pairing, attention.shared_key()));
  if (!layer.is_sparse) {
    return attention.attend(backend_, layer.attention, states_.cache(), layer.latents, segments,
                            backend::LinearOutput::accumulate, parts_.residual);
  }
  if (layer.indexer) {
    ZLLM_TRY(select(layer, segments));
  }
  return attention.attend_selected(backend_, layer.attention, states_.cache(), layer.latents,
                                   segments, parts_.sparse->selection,
                                   backend::LinearOutput::accumulate, parts_.residual);
}

template <MlaMoeBackend B>
Status MlaMoeModel<B>::select(const Layer& layer, std::span<const backend::PagedSegment> segments) {
  block::IndexerBlock<B>& indexer = parts_.sparse->indexer;
  const model_spec::MlaMoe& spec = parts_.spec;
  ZLLM_TRY(
      indexer.project(backend_, *layer.indexer, parts_.normed, parts_.attention.query_residual()));
  for (Tensor *heads : {&indexer.query(), &indexer.key()}) {
    ZLLM_TRY(parts_.rotation.turn(backend_, spec.indexer.width, 0, spec.indexer_pairing, *heads));
  }
  return backend_.select_keys(states_.cache(), layer.index_keys, spec.indexer, segments,
                              indexer.inputs(), parts_.sparse->selection);
}

template <MlaMoeBackend B>
Result<RoundOutput> MlaMoeModel<B>::finish(const Round& round) {
  ZLLM_TRY(RoundOutput output, parts_.ends.leave(backend_, round, parts_.residual));
  if (shares_selection(parts_.spec, parts_.info.end_layer)) {
    ZLLM_TRY(output.boundary->selection, backend_.read_selection(parts_.sparse->selection));
  }
  return output;
}

// From files to a loaded model; the whole of a composition file.
template <MlaMoeBackend B>
Result<LoadedModel> load(const weight::ModelFiles& files, B& backend, const LoadOptions& options) {
  return block::load_family<MlaMoeModel<B>>(files, backend, options, weight::assemble_mla_moe);
}

}  // namespace zllm::runtime::mla_moe
