#include <zllm/runtime/block/requirements.h>
#include <zllm/runtime/kimi_linear/kimi_linear.h>

namespace zllm::runtime::kimi_linear {

using backend::Op;

block::DeltaShape delta_shape(const model_spec::KimiLinear& spec) {
  return {.delta = spec.delta, .gate_rank = spec.gate_rank, .norm_epsilon = spec.norm_epsilon};
}

block::Inventory inventory(const weight::KimiLinearModel& model, StageRange stage) {
  block::Inventory inventory;
  inventory.add(model.ends, model.spec.tied_embeddings, stage.first == 0,
                stage.end == model.spec.layers);
  for (std::uint32_t layer = stage.first; layer < stage.end; ++layer) {
    const weight::KimiLinearLayer& weights = model.layers[layer];
    inventory.add_vector(weights.attention_norm);
    std::visit([&](const auto& attention) { inventory.add(attention); }, weights.attention);
    inventory.add_vector(weights.mlp_norm);
    inventory.add(weights.mlp, model.spec.mixture.router);
  }
  return inventory;
}

std::vector<backend::OpKey> requirements(const weight::KimiLinearModel& model, StageRange stage,
                                         const LoadOptions& options) {
  const model_spec::KimiLinear& spec = model.spec;
  std::vector<backend::OpKey> keys = inventory(model, stage).keys();
  keys.push_back({.op = Op::norm, .columns = spec.hidden});
  block::require(spec.attention, options.kv_type, keys);
  block::require(delta_shape(spec), keys);
  block::require(spec.mixture, keys);
  return keys;
}

backend::PagedCacheSpec cache_spec(const model_spec::KimiLinear& spec, StageRange stage,
                                   const LoadOptions& options) {
  backend::PagedCacheSpec cache{.planes = {}, .type = options.kv_type, .pages = 0};
  for (std::uint32_t layer = stage.first; layer < stage.end; ++layer) {
    if (!spec.is_linear[layer]) {
      cache.planes.push_back(block::plane(spec.attention));
    }
  }
  return cache;
}

backend::SlotCacheSpec slot_spec(const model_spec::KimiLinear& spec, StageRange stage) {
  backend::SlotCacheSpec slots;
  for (std::uint32_t layer = stage.first; layer < stage.end; ++layer) {
    if (spec.is_linear[layer]) {
      slots.planes.emplace_back(spec.delta);
    }
  }
  return slots;
}

block::StateNeed state_need(const weight::KimiLinearModel& model, StageRange stage) {
  const model_spec::KimiLinear& spec = model.spec;
  const bool has_head = stage.end == spec.layers;
  return {.weight_bytes = inventory(model, stage).weight_bytes(),
          .workspace_columns = 2 * std::uint64_t{spec.hidden} + block::columns(spec.attention) +
                               block::columns(delta_shape(spec)) + block::columns(spec.mixture),
          .logit_bytes = has_head ? block::logit_bytes(spec.vocabulary) : 0,
          .max_positions = spec.max_positions};
}

Result<block::ModelNeeds> needs(const weight::ModelFiles& files, const LoadOptions& options) {
  ZLLM_TRY(auto model, weight::assemble_kimi_linear(files));
  ZLLM_TRY(const StageRange stage, resolve(options.stage, model.spec.layers));
  return block::ModelNeeds{.keys = requirements(model, stage, options),
                           .pages = cache_spec(model.spec, stage, options),
                           .slots = slot_spec(model.spec, stage),
                           .states = state_need(model, stage),
                           .warnings = std::move(model.facts.warnings)};
}

}  // namespace zllm::runtime::kimi_linear
