#pragma once

#include <utility>

#include <zllm/runtime/block/recurrent_plan.h>
#include <zllm/runtime/block/stage.h>
#include <zllm/runtime/block/transaction.h>
#include <zllm/runtime/glm5_next/glm5_next.h>

// Bodies of Glm5NextModel; included by its composition files and tests alone.
namespace zllm::runtime::glm5_next {

template <Glm5NextBackend B>
Glm5NextModel<B>::Glm5NextModel(B& backend, Parts parts, RecurrentStore<B> store)
    : backend_(backend),
      parts_(std::move(parts)),
      states_(backend, std::move(store), parts_.info.limits.context) {}

template <Glm5NextBackend B>
auto Glm5NextModel<B>::load_sparse(block::WeightLoader<B>& loader,
                                   const weight::Glm5NextLayer& views,
                                   const model_spec::Glm5Next& spec, Planes& planes)
    -> Result<Sparse> {
  ZLLM_TRY(auto weights, block::LatentBlock<B>::load(
                             loader, std::get<weight::LatentAttentionWeights>(views.attention),
                             spec.attention.mla));
  Sparse sparse{
      .weights = std::move(weights), .plane = backend::PlaneId(planes.pages++), .indexer = {}};
  if (views.indexer) {
    ZLLM_TRY(auto indexer, block::IndexerBlock<B>::load(loader, *views.indexer));
    sparse.indexer.emplace(Indexer{.weights = std::move(indexer),
                                   .pooled_keys = backend::PlaneId(planes.pages++),
                                   .open_pool = backend::SlotPlaneId(planes.slots++)});
  }
  return sparse;
}

template <Glm5NextBackend B>
auto Glm5NextModel<B>::load_layers(block::WeightLoader<B>& loader,
                                   const weight::Glm5NextModel& model, StageRange stage)
    -> Result<std::vector<Layer>> {
  std::vector<Layer> layers;
  layers.reserve(stage.end - stage.first);
  Planes planes;
  for (std::uint32_t index = stage.first; index < stage.end; ++index) {
    const weight::Glm5NextLayer& views = model.layers[index];
    ZLLM_TRY(Weight attention_norm, loader.vector(views.attention_norm));
    ZLLM_TRY(Weight mlp_norm, loader.vector(views.mlp_norm));
    ZLLM_TRY(auto attention_streams, block::StreamBlock<B>::load(loader, views.attention_streams));
    ZLLM_TRY(auto mlp_streams, block::StreamBlock<B>::load(loader, views.mlp_streams));
    std::optional<std::variant<Linear, Sparse>> attention;
    if (const auto *delta = std::get_if<weight::DeltaAttentionWeights>(&views.attention)) {
      ZLLM_TRY(auto weights, block::DeltaBlock<B>::load(loader, *delta));
      attention =
          Linear{.weights = std::move(weights), .plane = backend::SlotPlaneId(planes.slots++)};
    } else {
      ZLLM_TRY(attention, load_sparse(loader, views, model.spec, planes));
    }
    ZLLM_TRY(auto mlp, block::MixtureBlock<B>::load(loader, views.mlp));
    layers.push_back(Layer{.attention_norm = std::move(attention_norm),
                           .mlp_norm = std::move(mlp_norm),
                           .attention_streams = std::move(attention_streams),
                           .mlp_streams = std::move(mlp_streams),
                           .attention = std::move(*attention),
                           .mlp = std::move(mlp)});
  }
  return layers;
}

template <Glm5NextBackend B>
Result<std::unique_ptr<Glm5NextModel<B>>> Glm5NextModel<B>::load(B& backend,
                                                                 const weight::Glm5NextModel& model,
                                                                 const LoadOptions& options) {
  const model_spec::Glm5Next& spec = model.spec;
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
  ZLLM_TRY(auto indexer, block::IndexerBlock<B>::make(backend, indexer_shape(spec), rows));
  ZLLM_TRY(auto selection, backend.selection(rows, spec.kpool.indexer.top_k + spec.kpool.pool - 1));
  ZLLM_TRY(auto mlp, block::MixtureBlock<B>::make(backend, spec.mixture, spec.hidden, rows));
  ZLLM_TRY(auto stream, block::StreamBlock<B>::make(backend, spec.streams, rows));
  ZLLM_TRY(Tensor streams, backend.tensor(rows, spec.streams.streams * spec.hidden));
  ZLLM_TRY(Tensor sublayer, backend.tensor(rows, spec.hidden));
  ZLLM_TRY(Tensor normed, backend.tensor(rows, spec.hidden));
  ZLLM_TRY(auto store, block::make_store(backend, pages, slots, options));
  Parts parts{.info = block::model_info(model, backend, stage, plan, inventory(model, stage)),
              .spec = spec,
              .ends = std::move(ends),
              .layers = std::move(layers),
              .delta = std::move(delta),
              .latent = std::move(latent),
              .indexer = std::move(indexer),
              .selection = std::move(selection),
              .mlp = std::move(mlp),
              .stream = std::move(stream),
              .streams = std::move(streams),
              .rows = std::move(sublayer),
              .normed = std::move(normed)};
  return std::unique_ptr<Glm5NextModel>(
      new Glm5NextModel(backend, std::move(parts), std::move(store)));
}

template <Glm5NextBackend B>
Result<RoundOutput> Glm5NextModel<B>::submit(const Round& round) {
  ZLLM_TRY(
      check_input(round, {.first_layer = parts_.info.first_layer,
                          .streams = parts_.spec.streams.streams,
                          .hidden = parts_.spec.hidden,
                          .selection = shares_selection(parts_.spec, parts_.info.first_layer)}));
  return block::transact(states_, parts_.info, round, [&] { return run(round); });
}

template <Glm5NextBackend B>
Result<RoundOutput> Glm5NextModel<B>::run(const Round& round) {
  Segments segments;
  ZLLM_TRY(segments.pages, states_.segments(round));
  ZLLM_TRY(segments.slots, states_.slot_segments(round));
  ZLLM_TRY(begin(round));
  for (const Layer& layer : parts_.layers) {
    ZLLM_TRY(attend(layer, segments));
    ZLLM_TRY(parts_.stream.split(backend_, layer.mlp_streams, parts_.streams, parts_.normed));
    ZLLM_TRY(backend_.norm(parts_.normed, layer.mlp_norm, parts_.spec.norm_epsilon, parts_.normed));
    ZLLM_TRY(parts_.mlp.run(backend_, layer.mlp, parts_.normed, backend::LinearOutput::replace,
                            parts_.rows));
    ZLLM_TRY(parts_.stream.merge(backend_, parts_.rows, parts_.streams));
  }
  return finish(round);
}

// The streams that enter the stage and the selection that came with them.
template <Glm5NextBackend B>
Status Glm5NextModel<B>::begin(const Round& round) {
  const auto count = static_cast<std::uint32_t>(round.rows());
  for (Tensor *tensor : {&parts_.streams, &parts_.rows, &parts_.normed}) {
    tensor->set_rows(count);
  }
  parts_.delta.set_rows(count);
  parts_.latent.set_rows(count);
  parts_.indexer.set_rows(count);
  parts_.mlp.set_rows(count);
  parts_.stream.set_rows(count);
  if (!round.input) {
    ZLLM_TRY(parts_.ends.embed(backend_, round, parts_.rows));
    return backend_.expand_streams(parts_.rows, parts_.streams);
  }
  if (round.input->selection) {
    ZLLM_TRY(backend_.write_selection(*round.input->selection, parts_.selection));
  }
  return backend_.write(round.input->values, parts_.streams);
}

template <Glm5NextBackend B>
Status Glm5NextModel<B>::attend(const Layer& layer, const Segments& segments) {
  ZLLM_TRY(parts_.stream.split(backend_, layer.attention_streams, parts_.streams, parts_.normed));
  ZLLM_TRY(
      backend_.norm(parts_.normed, layer.attention_norm, parts_.spec.norm_epsilon, parts_.normed));
  if (const Linear *linear = std::get_if<Linear>(&layer.attention)) {
    ZLLM_TRY(parts_.delta.run(backend_, linear->weights, states_.slots(), linear->plane,
                              segments.slots, parts_.normed, backend::LinearOutput::replace,
                              parts_.rows));
  } else {
    ZLLM_TRY(attend_sparse(std::get<Sparse>(layer.attention), segments));
  }
  return parts_.stream.merge(backend_, parts_.rows, parts_.streams);
}

template <Glm5NextBackend B>
Status Glm5NextModel<B>::attend_sparse(const Sparse& sparse, const Segments& segments) {
  ZLLM_TRY(parts_.latent.project(backend_, sparse.weights, parts_.normed));
  if (const auto& indexer = sparse.indexer) {
    ZLLM_TRY(parts_.indexer.project(backend_, indexer->weights, parts_.normed,
                                    parts_.latent.query_residual()));
    ZLLM_TRY(backend_.select_pools({.pages = &states_.cache(),
                                    .keys = indexer->pooled_keys,
                                    .slots = &states_.slots(),
                                    .open_pool = indexer->open_pool},
                                   parts_.spec.kpool, segments.pages, segments.slots,
                                   parts_.indexer.inputs(), *indexer->weights.position_bias,
                                   parts_.selection));
  }
  return parts_.latent.attend_selected(backend_, sparse.weights, states_.cache(), sparse.plane,
                                       segments.pages, parts_.selection,
                                       backend::LinearOutput::replace, parts_.rows);
}

template <Glm5NextBackend B>
Result<RoundOutput> Glm5NextModel<B>::finish(const Round& round) {
  const ModelInfo& info = parts_.info;
  const model_spec::Glm5Next& spec = parts_.spec;
  if (info.end_layer == info.layers) {
    ZLLM_TRY(backend_.collapse_streams(parts_.streams, parts_.rows));
    return parts_.ends.logits(backend_, round, parts_.rows);
  }
  ZLLM_TRY(Boundary boundary, block::read_boundary(backend_, parts_.streams, round.rows(),
                                                   spec.streams.streams, spec.hidden));
  if (shares_selection(spec, info.end_layer)) {
    ZLLM_TRY(boundary.selection, backend_.read_selection(parts_.selection));
  }
  return RoundOutput{.vocabulary = 0, .logits = {}, .boundary = std::move(boundary)};
}

// From files to a loaded model; the whole of a composition file.
template <Glm5NextBackend B>
Result<LoadedModel> load(const weight::ModelFiles& files, B& backend, const LoadOptions& options) {
  return block::load_family<Glm5NextModel<B>>(files, backend, options, weight::assemble_glm5_next);
}

}  // namespace zllm::runtime::glm5_next
