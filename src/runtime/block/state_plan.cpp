#include <zllm/runtime/block/state_plan.h>

#include <algorithm>

#include <zllm/base/checked.h>
#include <zllm/base/text.h>
#include <zllm/kv_cache/slot_table.h>

namespace zllm::runtime::block {

MemoryNeed memory_need(const StateNeed& need, const LoadOptions& options) {
  return {.weight_bytes = need.weight_bytes,
          .state_bytes_per_row = need.page_bytes / need.page_tokens,
          .state_bytes_per_sequence = kv_cache::slots_for(1) * need.slot_bytes,
          .workspace_bytes =
              need.workspace_columns * options.rows_per_round * sizeof(float) + need.logit_bytes,
          .max_positions = need.max_positions};
}

StateReads state_reads(const StateNeed& need) {
  const std::uint64_t page = need.page_bytes / need.page_tokens;
  if (need.chosen_rows == 0) {
    return {.bytes_per_row = page, .bytes_per_sequence = need.slot_bytes};
  }
  const std::uint64_t index_keys = need.index_page_bytes / need.page_tokens;
  return {.bytes_per_row = index_keys,
          .chosen_bytes_per_row = page - index_keys,
          .chosen_rows = need.chosen_rows,
          .bytes_per_sequence = need.slot_bytes};
}

Result<StatePlan> plan_states(const StateNeed& need, const LoadOptions& options,
                              std::optional<std::uint64_t> available) {
  ZLLM_TRY(const MemoryFit fit, fit_memory(memory_need(need, options), options, available));
  const auto pages = checked_cast<std::uint32_t>(fit.cache_rows / need.page_tokens + 1);
  if (!pages) {
    return Error{Code::invalid_argument,
                 concat("a cache of ", fit.cache_rows, " tokens is too large")};
  }
  return StatePlan{.context = fit.context,
                   .pages = *pages,
                   .rows_per_round = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
                       options.rows_per_round, 1, std::max<std::uint64_t>(fit.cache_rows, 1)))};
}

}  // namespace zllm::runtime::block
