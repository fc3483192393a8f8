#include <zllm/runtime/block/requirements.h>
#include <zllm/runtime/glm5_next/glm5_next.h>

namespace zllm::runtime::glm5_next {

using backend::Op;

block::DeltaShape delta_shape(const model_spec::Glm5Next& spec) {
  return {.delta = spec.delta, .gate_rank = spec.gate_rank, .norm_epsilon = spec.norm_epsilon};
}

block::IndexerShape indexer_shape(const model_spec::Glm5Next& spec) {
  return {.indexer = spec.kpool.indexer,
          .pool = spec.kpool.pool,
          .norm_epsilon = spec.indexer_norm_epsilon};
}

bool shares_selection(const model_spec::Glm5Next& spec, std::uint32_t layer) {
  while (layer < spec.layers && spec.is_linear[layer]) {
    ++layer;
  }
  return layer < spec.layers && !spec.owns_indexer[layer];
}

block::Inventory inventory(const weight::Glm5NextModel& model, StageRange stage) {
  block::Inventory inventory;
  inventory.add(model.ends, model.spec.tied_embeddings, stage.first == 0,
                stage.end == model.spec.layers);
  for (std::uint32_t layer = stage.first; layer < stage.end; ++layer) {
    const weight::Glm5NextLayer& weights = model.layers[layer];
    inventory.add(weights.attention_streams);
    inventory.add(weights.mlp_streams);
    inventory.add_vector(weights.attention_norm);
    std::visit([&](const auto& attention) { inventory.add(attention); }, weights.attention);
    if (weights.indexer) {
      inventory.add(*weights.indexer);
    }
    inventory.add_vector(weights.mlp_norm);
    inventory.add(weights.mlp, model.spec.mixture.router);
  }
  return inventory;
}

std::vector<backend::OpKey> requirements(const weight::Glm5NextModel& model, StageRange stage,
                                         const LoadOptions& options) {
  const model_spec::Glm5Next& spec = model.spec;
  std::vector<backend::OpKey> keys = inventory(model, stage).keys();
  keys.push_back({.op = Op::norm, .columns = spec.hidden});
  block::require(spec.attention, options.kv_type, keys);
  block::require(indexer_shape(spec), options.kv_type, keys);
  block::require(delta_shape(spec), keys);
  block::require(spec.streams, spec.hidden, keys);
  block::require(spec.mixture, keys);
  return keys;
}

backend::PagedCacheSpec cache_spec(const model_spec::Glm5Next& spec, StageRange stage,
                                   const LoadOptions& options) {
  backend::PagedCacheSpec cache{.planes = {}, .type = options.kv_type, .pages = 0};
  for (std::uint32_t layer = stage.first; layer < stage.end; ++layer) {
    if (!spec.is_linear[layer]) {
      cache.planes.push_back(block::plane(spec.attention));
      if (spec.owns_indexer[layer]) {
        cache.planes.push_back(block::plane(indexer_shape(spec)));
      }
    }
  }
  return cache;
}

backend::SlotCacheSpec slot_spec(const model_spec::Glm5Next& spec, StageRange stage) {
  backend::SlotCacheSpec slots;
  for (std::uint32_t layer = stage.first; layer < stage.end; ++layer) {
    if (spec.is_linear[layer]) {
      slots.planes.emplace_back(spec.delta);
    } else if (spec.owns_indexer[layer]) {
      slots.planes.emplace_back(
          backend::OpenPoolSpec{.width = spec.kpool.indexer.width, .pool = spec.kpool.pool});
    }
  }
  return slots;
}

block::StateNeed state_need(const weight::Glm5NextModel& model, StageRange stage) {
  const model_spec::Glm5Next& spec = model.spec;
  const bool has_head = stage.end == spec.layers;
  return {.weight_bytes = inventory(model, stage).weight_bytes(),
          .chosen_rows = spec.kpool.indexer.top_k,
          .workspace_columns = (2 + std::uint64_t{spec.streams.streams}) * spec.hidden +
                               block::columns(spec.attention) +
                               block::columns(indexer_shape(spec)) +
                               block::columns(delta_shape(spec)) + block::columns(spec.streams) +
                               block::columns(spec.mixture),
          .logit_bytes = has_head ? block::logit_bytes(spec.vocabulary) : 0,
          .max_positions = spec.max_positions};
}

Result<block::ModelNeeds> needs(const weight::ModelFiles& files, const LoadOptions& options) {
  ZLLM_TRY(auto model, weight::assemble_glm5_next(files));
  ZLLM_TRY(const StageRange stage, resolve(options.stage, model.spec.layers));
  return block::ModelNeeds{.keys = requirements(model, stage, options),
                           .pages = cache_spec(model.spec, stage, options),
                           .slots = slot_spec(model.spec, stage),
                           .states = state_need(model, stage),
                           .warnings = std::move(model.facts.warnings)};
}

}  // namespace zllm::runtime::glm5_next
