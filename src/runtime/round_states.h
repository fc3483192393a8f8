#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <zllm/kv_cache/sequence_table.h>
#include <zllm/runtime/round.h>
#include <zllm/runtime/sequence_states.h>

namespace zllm::runtime {

// States whose rounds are reserved as a whole, whatever they are made of.
class RoundStates : public SequenceStates {
 public:
  // Reserves the rows of every segment or none.
  Status reserve(const Round& round);
  // Gives back the reserved rows of the first `count` segments.
  void roll_back(const Round& round, std::size_t count);

  Status rollback(SequenceId id) final { return commit(id, 0); }
  Status restore(SequenceId id, std::uint64_t rows) final;

 protected:
  // Reserves the rows of one segment or none.
  virtual Status reserve_segment(const Segment& segment) = 0;
  // How many rows truncate(id, rows) would leave.
  virtual Result<std::uint64_t> reachable(SequenceId id, std::uint64_t rows) const = 0;
};

// An error unless the sequence has no open round; `what` is refused.
Status check_closed(const kv_cache::SequenceTable& table, SequenceId id, std::string_view what);

// An error unless the snapshot has as many bytes as its rows take in this model.
Status check_size(const SequenceSnapshot& snapshot, std::optional<std::size_t> bytes);

}  // namespace zllm::runtime
