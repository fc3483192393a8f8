#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>

#include <zllm/backend/capability/paged.h>
#include <zllm/base/result.h>
#include <zllm/runtime/any_model.h>
#include <zllm/runtime/load.h>
#include <zllm/runtime/memory_fit.h>

namespace zllm::runtime::block {

// Sizes of a model on a backend, known before anything loads.
struct StateNeed {
  std::uint64_t weight_bytes = 0;
  std::uint64_t page_bytes = 0;
  std::uint32_t page_tokens = 1;
  std::uint64_t index_page_bytes = 0;  // of a page, the index keys alone
  std::uint64_t chosen_rows = 0;       // of the latents, that a row reads; 0: all of them
  std::uint64_t slot_bytes = 0;
  bool is_recurrent = false;            // has slots, of no bytes where a stage has no such layer
  std::uint32_t sequences = 0;          // that its slots are for
  std::uint64_t workspace_columns = 0;  // f32 values of one row of a round, in all tensors
  std::uint64_t logit_bytes = 0;
  std::uint64_t max_positions = 0;
};

template <class B>
void size_pages(const B& backend, const backend::PagedCacheSpec& pages, StateNeed& need) {
  backend::PagedCacheSpec index_keys{.planes = {}, .type = pages.type, .pages = 0};
  std::ranges::copy_if(pages.planes, std::back_inserter(index_keys.planes), [](const auto& plane) {
    return plane.kind == backend::PlaneKind::index_keys;
  });
  need.page_bytes = backend.page_bytes(pages);
  need.page_tokens = B::kPageTokens;
  need.index_page_bytes = backend.page_bytes(index_keys);
}

StateReads state_reads(const StateNeed& need);

// What the options ask for, as far as memory grants it.
struct StatePlan {
  std::uint64_t context = 0;
  std::uint32_t pages = 0;
  std::uint32_t rows_per_round = 0;
};

MemoryNeed memory_need(const StateNeed& need, const LoadOptions& options);
Result<StatePlan> plan_states(const StateNeed& need, const LoadOptions& options,
                              std::optional<std::uint64_t> available);

struct CachePlan {
  StateNeed need;
  StatePlan states;
};

// Sizes the pages of a model; the need has all but what they take.
template <class B>
Result<CachePlan> plan_pages(const B& backend, StateNeed need, backend::PagedCacheSpec& pages,
                             const LoadOptions& options) {
  size_pages(backend, pages, need);
  ZLLM_TRY(const StatePlan states, plan_states(need, options, backend.available_bytes()));
  pages.pages = states.pages;
  return CachePlan{.need = need, .states = states};
}

}  // namespace zllm::runtime::block
