#pragma once

#include <utility>

#include <zllm/backend/capability/paged.h>
#include <zllm/backend/capability/slots.h>
#include <zllm/kv_cache/slot_table.h>
#include <zllm/runtime/block/state_plan.h>
#include <zllm/runtime/recurrent_states.h>

namespace zllm::runtime::block {

struct RecurrentPlan {
  StateNeed need;
  StatePlan states;
};

// Sizes the pages and slots of a model with recurrent layers.
template <class B>
Result<RecurrentPlan> plan_recurrent(const B& backend, StateNeed need,
                                     backend::PagedCacheSpec& pages, backend::SlotCacheSpec& slots,
                                     const LoadOptions& options) {
  size_pages(backend, pages, need);
  need.slot_bytes = backend.slot_bytes(slots);
  need.is_recurrent = true;
  ZLLM_TRY(const StatePlan plan, plan_states(need, options, backend.available_bytes()));
  pages.pages = plan.pages;
  slots.slots = kv_cache::slots_for(options.sequences);
  return RecurrentPlan{.need = need, .states = plan};
}

template <class B>
Result<RecurrentStore<B>> make_store(B& backend, const backend::PagedCacheSpec& pages,
                                     const backend::SlotCacheSpec& slots,
                                     const LoadOptions& options) {
  ZLLM_TRY(auto page_cache, backend.paged_cache(pages));
  ZLLM_TRY(auto slot_cache, backend.slot_cache(slots));
  return RecurrentStore<B>{.pages = std::move(page_cache),
                           .page_spec = pages,
                           .slots = std::move(slot_cache),
                           .slot_spec = slots,
                           .sequences = options.sequences};
}

}  // namespace zllm::runtime::block
