#pragma once

#include <utility>

#include <zllm/backend/capability/paged.h>
#include <zllm/backend/capability/slots.h>
#include <zllm/kv_cache/slot_table.h>
#include <zllm/runtime/block/state_plan.h>
#include <zllm/runtime/recurrent_states.h>

namespace zllm::runtime::block {

// Sizes the pages and slots of a model with recurrent layers.
template <class B>
Result<CachePlan> plan_recurrent(const B& backend, StateNeed need, backend::PagedCacheSpec& pages,
                                 backend::SlotCacheSpec& slots, const LoadOptions& options) {
  need.slot_bytes = backend.slot_bytes(slots);
  need.is_recurrent = true;
  need.sequences = options.sequences;
  slots.slots = kv_cache::slots_for(options.sequences);
  return plan_pages(backend, need, pages, options);
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
