#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <zllm/base/result.h>
#include <zllm/rope/spec.h>
#include <zllm/runtime/round.h>
#include <zllm/runtime/sequence_states.h>

namespace zllm::runtime {

// What a decode row reads of its sequence's state at most; attention windows are not told of.
struct StateReads {
  std::uint64_t bytes_per_row = 0;         // of every row before it
  std::uint64_t chosen_bytes_per_row = 0;  // of rows that a selection names
  std::uint64_t chosen_rows = 0;           // so many at most
  std::uint64_t bytes_per_sequence = 0;    // recurrent state

  constexpr std::uint64_t bytes(std::uint64_t context) const {
    return context * bytes_per_row + std::min(context, chosen_rows) * chosen_bytes_per_row +
           bytes_per_sequence;
  }
};

// What schedulers and reports need to know of a loaded model.
struct ModelInfo {
  std::string path;  // of the files, for messages
  std::string architecture;
  std::string backend;
  std::uint32_t layers = 0;       // of the whole model
  std::uint32_t first_layer = 0;  // of this stage
  std::uint32_t end_layer = 0;
  RoundLimits limits;
  std::uint64_t parameter_count = 0;
  std::uint64_t weight_bytes = 0;     // resident
  std::uint64_t bytes_per_token = 0;  // of weights, read by a decode row
  std::uint64_t state_bytes_per_row = 0;
  // Of its slots, whatever its length (kv_cache::slots_for).
  std::uint64_t state_bytes_per_sequence = 0;
  // Sequences are cut at checkpoints alone; so in every stage of the model, whatever its layers.
  bool is_recurrent = false;
  std::uint32_t sequences = 0;  // that may live at once; 0 = as many as pages hold
  StateReads state_reads;
  std::optional<rope::Spec> rotary = {};  // where a family has one
};

// A loaded model on some backend, all that engine and tools see. One thread at a time.
class AnyModel {
 public:
  virtual ~AnyModel() = default;

  virtual const ModelInfo& info() const = 0;
  virtual SequenceStates& states() = 0;
  // Reserves the rows of all segments and runs the round. On success every segment awaits commit or
  // rollback; on failure all reserved rows are given back and no state has changed.
  virtual Result<RoundOutput> submit(const Round& round) = 0;
};

// Sequences of whose announced lengths this is the same compute the same rows from the same tokens;
// others must not share any (rope/reference.h).
std::uint64_t table_length(const ModelInfo& info, std::uint64_t expected_rows);

}  // namespace zllm::runtime
