#pragma once

#include <cstdint>
#include <optional>

#include <zllm/base/result.h>
#include <zllm/runtime/load.h>

namespace zllm::runtime {

// Sizes that decide whether a model fits, known before anything loads.
struct MemoryNeed {
  std::uint64_t weight_bytes = 0;
  std::uint64_t state_bytes_per_row = 0;
  std::uint64_t state_bytes_per_sequence = 0;  // times LoadOptions::sequences, whatever they hold
  std::uint64_t workspace_bytes = 0;           // activations of the largest round
  std::uint64_t max_positions = 0;             // context that the model was made for
};

struct MemoryFit {
  std::uint64_t context = 0;
  std::uint64_t cache_rows = 0;
};

// The context and cache that the options ask for, or, where they leave it open, the model's own
// context as far as memory goes. An error that says what is needed, what there is and what would
// fit. available: nothing = not known, everything is granted.
Result<MemoryFit> fit_memory(const MemoryNeed& need, const LoadOptions& options,
                             std::optional<std::uint64_t> available);

// A context that memory cuts below this is refused rather than granted: it would surprise.
constexpr std::uint64_t kSmallestOpenContext = 512;

}  // namespace zllm::runtime
