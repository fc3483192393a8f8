#include <zllm/runtime/block/requirements.h>
#include <zllm/runtime/gqa_moe/gqa_moe.h>

namespace zllm::runtime::gqa_moe {

using backend::Op;

block::GqaShape gqa_shape(const model_spec::GqaMoe& spec) {
  return {.query_heads = spec.query_heads,
          .kv_heads = spec.kv_heads,
          .head = spec.head,
          .norm_epsilon = spec.norm_epsilon};
}

block::Inventory inventory(const weight::GqaMoeModel& model, StageRange stage) {
  block::Inventory inventory;
  inventory.add(model.ends, model.spec.tied_embeddings, stage.first == 0,
                stage.end == model.spec.layers);
  for (std::uint32_t layer = stage.first; layer < stage.end; ++layer) {
    const weight::GqaMoeLayer& weights = model.layers[layer];
    inventory.add_vector(weights.attention_norm);
    inventory.add(weights.attention);
    inventory.add_vector(weights.mlp_norm);
    inventory.add(weights.mlp, model.spec.mixture.router);
  }
  return inventory;
}

std::vector<backend::OpKey> requirements(const weight::GqaMoeModel& model, StageRange stage,
                                         const LoadOptions& options) {
  const model_spec::GqaMoe& spec = model.spec;
  std::vector<backend::OpKey> keys = inventory(model, stage).keys();
  keys.push_back({.op = Op::norm, .columns = spec.hidden});
  if (spec.query_key_norm) {
    keys.push_back({.op = Op::norm, .columns = spec.head});
  }
  keys.push_back({.op = Op::rotate, .columns = spec.head});
  keys.push_back({.op = Op::paged_gqa,
                  .encoding = backend::encoding_of(options.kv_type),
                  .rows = spec.query_heads,
                  .columns = spec.head});
  block::require(spec.mixture, keys);
  return keys;
}

backend::PagedCacheSpec cache_spec(const model_spec::GqaMoe& spec, StageRange stage,
                                   const LoadOptions& options) {
  return {.planes = std::vector(stage.end - stage.first, block::plane(gqa_shape(spec))),
          .type = options.kv_type,
          .pages = 0};
}

block::StateNeed state_need(const weight::GqaMoeModel& model, StageRange stage) {
  const model_spec::GqaMoe& spec = model.spec;
  const bool has_head = stage.end == spec.layers;
  return {.weight_bytes = inventory(model, stage).weight_bytes(),
          .workspace_columns = 2 * std::uint64_t{spec.hidden} + block::columns(spec.rope) +
                               block::columns(gqa_shape(spec)) + block::columns(spec.mixture),
          .logit_bytes = has_head ? block::logit_bytes(spec.vocabulary) : 0,
          .max_positions = spec.max_positions};
}

Result<block::ModelNeeds> needs(const weight::ModelFiles& files, const LoadOptions& options) {
  ZLLM_TRY(auto model, weight::assemble_gqa_moe(files));
  ZLLM_TRY(const StageRange stage, resolve(options.stage, model.spec.layers));
  return block::ModelNeeds{.keys = requirements(model, stage, options),
                           .pages = cache_spec(model.spec, stage, options),
                           .slots = {},
                           .states = state_need(model, stage),
                           .warnings = std::move(model.facts.warnings)};
}

}  // namespace zllm::runtime::gqa_moe
