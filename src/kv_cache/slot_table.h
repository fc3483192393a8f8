#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/base/strong.h>
#include <zllm/kv_cache/held_places.h>
#include <zllm/kv_cache/reference_pool.h>

namespace zllm::kv_cache {

// Checkpoints that a sequence keeps: the starts of a conversation that may be asked for again are
// its system prompt and its last few turns, and each costs a whole state.
constexpr std::uint32_t kCheckpoints = 4;

// Slots with which `sequences` sequences can live, run a round each and keep all checkpoints.
constexpr std::uint32_t slots_for(std::uint32_t sequences) {
  constexpr std::uint64_t kCommittedAndPending = 2;
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  const std::uint64_t slots = sequences * (kCommittedAndPending + kCheckpoints);
  return static_cast<std::uint32_t>(slots < kMost ? slots : kMost);
}

// The open round of a sequence: rows that lead from one slot to a new one.
struct SlotRound {
  std::optional<SlotId> from;  // the committed slot; nothing before the first row
  SlotId to;                   // the pending slot, written by the round alone
  std::uint64_t rows = 0;
  bool is_journaled = false;  // `to` also keeps what a replay of fewer rows needs
};

// Slots of all sequences over one slot pool. Each sequence has a committed slot (none before its
// first row), a pending one while a round is open, and checkpoints: earlier slots with their row
// counts. A written slot never changes, so forks and checkpoints share it by reference. Every
// change is a transaction: reserve, then commit or rollback. Sequences are named by the caller.
// Not thread-safe.
class SlotTable {
 public:
  explicit SlotTable(std::uint32_t capacity);

  Status create(SequenceId id);
  Status release(SequenceId id);
  // Makes `copy` a sequence with the same committed rows and checkpoints, sharing all slots.
  // Refused while a round is open.
  Status fork(SequenceId id, SequenceId copy);

  // Opens a round of `rows` rows with a fresh pending slot. Refused, with nothing changed, when no
  // slot is free or a round is open already.
  Result<SlotRound> reserve(SequenceId id, std::uint64_t rows, bool is_journaled);
  // Whether the pending slot must be replayed to `rows` rows before commit(id, rows). An error
  // where that commit is refused: more rows than reserved, or a part of a round without journal.
  Result<bool> needs_replay(SequenceId id, std::uint64_t rows) const;
  // Makes the pending slot the committed one, which must now hold the first `rows` reserved rows.
  Status commit(SequenceId id, std::uint64_t rows);
  // Gives up the pending slot. The committed slot is untouched.
  Status rollback(SequenceId id);

  // Marks the committed slot as one that truncate reaches. Drops the oldest mark of more than
  // kCheckpoints. Refused while a round is open.
  Status checkpoint(SequenceId id);
  // The row count that truncate(id, rows) would leave: rows itself when all or none are kept, else
  // the last checkpoint's, else 0. Refused where truncate is.
  Result<std::uint64_t> reachable(SequenceId id, std::uint64_t rows) const;
  // Goes back to reachable(id, rows) rows and gives that number. Refused while a round is open.
  Result<std::uint64_t> truncate(SequenceId id, std::uint64_t rows);

  Result<std::uint64_t> length(SequenceId id) const;  // committed rows
  Result<std::optional<SlotId>> committed(SequenceId id) const;
  Result<std::optional<SlotRound>> open_round(SequenceId id) const;
  // Distinct slots of the sequence, shared ones too.
  Result<std::uint32_t> slot_count(SequenceId id) const;

  // The slots of some sequences that exist.
  HeldPlaces<SlotId> held(std::span<const SequenceId> ids) const;

  const SlotPool& pool() const { return pool_; }
  std::size_t count() const { return sequences_.size(); }

 private:
  struct Checkpoint {
    std::uint64_t rows = 0;
    SlotId slot;
  };

  struct Sequence {
    std::optional<SlotId> committed;
    std::uint64_t length = 0;
    std::optional<SlotRound> open;
    std::vector<Checkpoint> checkpoints;  // of ascending rows, at most `length`
  };

  Result<Sequence *> find(SequenceId id);
  Result<const Sequence *> find(SequenceId id) const;

  SlotPool pool_;
  std::unordered_map<SequenceId, Sequence> sequences_;
};

}  // namespace zllm::kv_cache
