#pragma once

#include <optional>
#include <string>
#include <utility>

#include <zllm/kv_cache/slot_table.h>
#include <zllm/runtime/any_model.h>
#include <zllm/runtime/block/inventory.h>
#include <zllm/runtime/block/state_plan.h>
#include <zllm/runtime/load.h>
#include <zllm/weight/container/model_files.h>

namespace zllm::runtime::block {

// What every family's ModelInfo takes from the same places.
template <class Model, class B>
ModelInfo model_info(const Model& model, const B& backend, StageRange stage, const CachePlan& plan,
                     const Inventory& inventory) {
  const StateNeed& need = plan.need;
  std::optional<rope::Spec> rotary;
  if constexpr (requires { model.spec.rope; }) {
    rotary = model.spec.rope;
  }
  return {.path = model.facts.path,
          .architecture = model.spec.architecture,
          .backend = std::string(backend.name()),
          .layers = model.spec.layers,
          .first_layer = stage.first,
          .end_layer = stage.end,
          .limits = {.vocabulary = model.spec.vocabulary,
                     .context = plan.states.context,
                     .rows = plan.states.rows_per_round},
          .parameter_count = inventory.parameter_count(),
          .weight_bytes = inventory.weight_bytes(),
          .bytes_per_token = inventory.bytes_per_token(),
          .state_bytes_per_row = need.page_bytes / need.page_tokens,
          .state_bytes_per_sequence = kv_cache::slots_for(1) * need.slot_bytes,
          .is_recurrent = need.is_recurrent,
          .sequences = need.sequences,
          .state_reads = state_reads(need),
          .rotary = std::move(rotary)};
}

// From files to a loaded model, by the family's way to assemble and its runtime.
template <class Runtime, class B, class Assemble>
Result<LoadedModel> load_family(const weight::ModelFiles& files, B& backend,
                                const LoadOptions& options, Assemble assemble) {
  ZLLM_TRY(auto model, assemble(files));
  auto loaded = Runtime::load(backend, model, options);
  if (!loaded.ok()) {
    return std::move(loaded).error().within(files.path);
  }
  return LoadedModel{.model = std::move(loaded).value(),
                     .end_tokens = std::move(model.facts.end_tokens),
                     .begin_token = model.facts.begin_token,
                     .warnings = std::move(model.facts.warnings)};
}

}  // namespace zllm::runtime::block
