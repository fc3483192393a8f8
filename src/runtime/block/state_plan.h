#pragma once

#include <cstdint>
#include <optional>

#include <zllm/base/result.h>
#include <zllm/runtime/load.h>
#include <zllm/runtime/memory_fit.h>

namespace zllm::runtime::block {

// Sizes of a model on a backend, known before anything loads.
struct StateNeed {
  std::uint64_t weight_bytes = 0;
  std::uint64_t page_bytes = 0;
  std::uint32_t page_tokens = 1;
  std::uint64_t slot_bytes = 0;
  bool is_recurrent = false;            // has slots, of no bytes where a stage has no such layer
  std::uint64_t workspace_columns = 0;  // f32 values of one row of a round, in all tensors
  std::uint64_t logit_bytes = 0;
  std::uint64_t max_positions = 0;
};

// What the options ask for, as far as memory grants it.
struct StatePlan {
  std::uint64_t context = 0;
  std::uint32_t pages = 0;
  std::uint32_t rows_per_round = 0;
};

MemoryNeed memory_need(const StateNeed& need, const LoadOptions& options);
Result<StatePlan> plan_states(const StateNeed& need, const LoadOptions& options,
                              std::optional<std::uint64_t> available);

}  // namespace zllm::runtime::block
