#pragma once

#include <cstdint>
#include <string>

#include <zllm/kv_cache/slot_table.h>
#include <zllm/runtime/any_model.h>
#include <zllm/runtime/block/inventory.h>
#include <zllm/runtime/block/state_plan.h>
#include <zllm/runtime/boundary.h>
#include <zllm/runtime/load.h>
#include <zllm/runtime/round.h>
#include <zllm/weight/container/model_files.h>

namespace zllm::runtime::block {

// The residual rows that leave a stage before the last, for the next one.
template <class B>
Result<Boundary> read_boundary(B& backend, const typename B::Tensor& rows, std::uint64_t count,
                               std::uint32_t streams, std::uint32_t hidden) {
  Boundary boundary{.streams = streams, .hidden = hidden, .values = {}, .selection = {}};
  boundary.values.resize(count * streams * hidden);
  ZLLM_TRY(backend.read(rows, boundary.values));
  return boundary;
}

// What every family's ModelInfo takes from the same places.
template <class Model, class B>
ModelInfo model_info(const Model& model, const B& backend, StageRange stage, const StatePlan& plan,
                     const StateNeed& need, const Inventory& inventory) {
  return {.path = model.facts.path,
          .architecture = model.spec.architecture,
          .backend = std::string(backend.name()),
          .layers = model.spec.layers,
          .first_layer = stage.first,
          .end_layer = stage.end,
          .limits = {.vocabulary = model.spec.vocabulary,
                     .context = plan.context,
                     .rows = plan.rows_per_round},
          .parameter_count = inventory.parameter_count(),
          .weight_bytes = inventory.weight_bytes(),
          .bytes_per_token = inventory.bytes_per_token(),
          .state_bytes_per_row = need.page_bytes / need.page_tokens,
          .state_bytes_per_sequence = kv_cache::slots_for(1) * need.slot_bytes,
          .is_recurrent = need.is_recurrent,
          .state_reads = state_reads(need)};
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
