#include <algorithm>

#include <zllm/runtime/block/requirements.h>
#include <zllm/runtime/mla_moe/mla_moe.h>

namespace zllm::runtime::mla_moe {
namespace {

using backend::Op;
using model_spec::IndexerKind;

bool has_indexer(const model_spec::MlaMoe& spec) {
  return std::ranges::any_of(spec.indexers,
                             [](IndexerKind kind) { return kind != IndexerKind::none; });
}

}  // namespace

block::IndexerShape indexer_shape(const model_spec::MlaMoe& spec) {
  return {.indexer = spec.indexer, .pool = 0, .norm_epsilon = spec.indexer_norm_epsilon};
}

bool shares_selection(const model_spec::MlaMoe& spec, std::uint32_t layer) {
  return layer < spec.layers && spec.indexers[layer] == IndexerKind::shared;
}

block::Inventory inventory(const weight::MlaMoeModel& model, StageRange stage) {
  block::Inventory inventory;
  inventory.add(model.ends, model.spec.tied_embeddings, stage.first == 0,
                stage.end == model.spec.layers);
  for (std::uint32_t layer = stage.first; layer < stage.end; ++layer) {
    const weight::MlaMoeLayer& weights = model.layers[layer];
    inventory.add_vector(weights.attention_norm);
    inventory.add(weights.attention);
    if (weights.indexer) {
      inventory.add(*weights.indexer);
    }
    inventory.add_vector(weights.mlp_norm);
    inventory.add(weights.mlp, model.spec.mixture.router);
  }
  return inventory;
}

std::vector<backend::OpKey> requirements(const weight::MlaMoeModel& model, StageRange stage,
                                         const LoadOptions& options) {
  const model_spec::MlaMoe& spec = model.spec;
  std::vector<backend::OpKey> keys = inventory(model, stage).keys();
  keys.push_back({.op = Op::norm, .columns = spec.hidden});
  keys.push_back({.op = Op::rotate, .columns = spec.attention.mla.rope});
  block::require(spec.attention, options.kv_type, keys);
  if (has_indexer(spec)) {
    block::require(indexer_shape(spec), options.kv_type, keys);
  }
  block::require(spec.mixture, keys);
  return keys;
}

backend::PagedCacheSpec cache_spec(const model_spec::MlaMoe& spec, StageRange stage,
                                   const LoadOptions& options) {
  backend::PagedCacheSpec cache{.planes = {}, .type = options.kv_type, .pages = 0};
  for (std::uint32_t layer = stage.first; layer < stage.end; ++layer) {
    cache.planes.push_back(block::plane(spec.attention));
    if (spec.indexers[layer] == IndexerKind::full) {
      cache.planes.push_back(block::plane(indexer_shape(spec)));
    }
  }
  return cache;
}

block::StateNeed state_need(const weight::MlaMoeModel& model, StageRange stage) {
  const model_spec::MlaMoe& spec = model.spec;
  const bool has_head = stage.end == spec.layers;
  return {.weight_bytes = inventory(model, stage).weight_bytes(),
          .chosen_rows = has_indexer(spec) ? spec.indexer.top_k : 0,
          .workspace_columns = 2 * std::uint64_t{spec.hidden} + block::columns(spec.rope) +
                               block::columns(spec.attention) +
                               (has_indexer(spec) ? block::columns(indexer_shape(spec)) : 0) +
                               block::columns(spec.mixture),
          .logit_bytes = has_head ? block::logit_bytes(spec.vocabulary) : 0,
          .max_positions = spec.max_positions};
}

Result<block::ModelNeeds> needs(const weight::ModelFiles& files, const LoadOptions& options) {
  ZLLM_TRY(auto model, weight::assemble_mla_moe(files));
  ZLLM_TRY(const StageRange stage, resolve(options.stage, model.spec.layers));
  return block::ModelNeeds{.keys = requirements(model, stage, options),
                           .pages = cache_spec(model.spec, stage, options),
                           .slots = {},
                           .states = state_need(model, stage),
                           .warnings = std::move(model.facts.warnings)};
}

}  // namespace zllm::runtime::mla_moe
