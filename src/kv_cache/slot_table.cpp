#include <zllm/kv_cache/slot_table.h>

#include <utility>

#include <zllm/base/checked.h>
#include <zllm/base/text.h>

namespace zllm::kv_cache {

SlotTable::SlotTable(std::uint32_t capacity) : pool_(capacity) {}

Status SlotTable::create(SequenceId id) {
  if (!sequences_.emplace(id, Sequence{}).second) {
    return Error{Code::invalid_argument, concat("sequence ", id.value(), " exists already")};
  }
  return {};
}

Status SlotTable::release(SequenceId id) {
  ZLLM_TRY(Sequence *const sequence, find(id));
  for (const Checkpoint& checkpoint : sequence->checkpoints) {
    pool_.release(checkpoint.slot);
  }
  if (sequence->open) {
    pool_.release(sequence->open->to);
  }
  if (sequence->committed) {
    pool_.release(*sequence->committed);
  }
  sequences_.erase(id);
  return {};
}

Status SlotTable::fork(SequenceId id, SequenceId copy) {
  ZLLM_TRY(const Sequence *const source, find(id));
  if (source->open) {
    return Error{Code::invalid_argument, "fork of a sequence with an open round"};
  }
  Sequence shared = *source;
  ZLLM_TRY(create(copy));
  if (shared.committed) {
    pool_.share(*shared.committed);
  }
  for (const Checkpoint& checkpoint : shared.checkpoints) {
    pool_.share(checkpoint.slot);
  }
  sequences_[copy] = std::move(shared);
  return {};
}

Result<SlotRound> SlotTable::reserve(SequenceId id, std::uint64_t rows, bool is_journaled) {
  ZLLM_TRY(Sequence *const sequence, find(id));
  if (sequence->open) {
    return Error{Code::invalid_argument, "reserve while the sequence has an open round"};
  }
  if (rows == 0 || !checked_add(sequence->length, rows)) {
    return Error{Code::invalid_argument,
                 concat("reserve of ", rows, " rows behind ", sequence->length)};
  }
  const std::optional<SlotId> fresh = pool_.allocate();
  if (!fresh) {
    return Error{Code::resource_exhausted,
                 concat("all ", pool_.capacity(), " slots of recurrent state are taken")};
  }
  sequence->open = SlotRound{
      .from = sequence->committed, .to = *fresh, .rows = rows, .is_journaled = is_journaled};
  return *sequence->open;
}

Result<bool> SlotTable::needs_replay(SequenceId id, std::uint64_t rows) const {
  ZLLM_TRY(const Sequence *const sequence, find(id));
  const std::uint64_t reserved = sequence->open ? sequence->open->rows : 0;
  if (rows > reserved) {
    return Error{Code::invalid_argument,
                 concat("commit of ", rows, " rows where ", reserved, " are reserved")};
  }
  const bool is_part = rows != 0 && rows != reserved;
  if (is_part && !sequence->open->is_journaled) {
    return Error{Code::invalid_argument,
                 concat("commit of ", rows, " of ", reserved,
                        " rows: recurrent state keeps a part only of a verify segment")};
  }
  return is_part;
}

Status SlotTable::commit(SequenceId id, std::uint64_t rows) {
  ZLLM_TRY(needs_replay(id, rows));
  ZLLM_TRY(Sequence *const sequence, find(id));
  if (!sequence->open) {
    return {};
  }
  const SlotRound round = *std::exchange(sequence->open, std::nullopt);
  if (rows == 0) {
    pool_.release(round.to);
    return {};
  }
  if (round.from) {
    pool_.release(*round.from);
  }
  sequence->committed = round.to;
  sequence->length += rows;
  return {};
}

Status SlotTable::rollback(SequenceId id) { return commit(id, 0); }

Status SlotTable::checkpoint(SequenceId id) {
  ZLLM_TRY(Sequence *const sequence, find(id));
  if (sequence->open) {
    return Error{Code::invalid_argument, "checkpoint of a sequence with an open round"};
  }
  std::vector<Checkpoint>& marks = sequence->checkpoints;
  const bool is_marked = !marks.empty() && marks.back().rows == sequence->length;
  if (!sequence->committed || is_marked) {
    return {};
  }
  if (marks.size() == kCheckpoints) {
    pool_.release(marks.front().slot);
    marks.erase(marks.begin());
  }
  pool_.share(*sequence->committed);
  marks.push_back({.rows = sequence->length, .slot = *sequence->committed});
  return {};
}

Result<std::uint64_t> SlotTable::reachable(SequenceId id, std::uint64_t rows) const {
  ZLLM_TRY(const Sequence *const sequence, find(id));
  if (sequence->open) {
    return Error{Code::invalid_argument, "truncate of a sequence with an open round"};
  }
  if (rows > sequence->length) {
    return Error{Code::invalid_argument,
                 concat("truncate to ", rows, " rows of ", sequence->length)};
  }
  if (rows == sequence->length) {
    return rows;
  }
  std::uint64_t reached = 0;
  for (const Checkpoint& mark : sequence->checkpoints) {
    reached = mark.rows <= rows ? mark.rows : reached;
  }
  return reached;
}

Result<std::uint64_t> SlotTable::truncate(SequenceId id, std::uint64_t rows) {
  ZLLM_TRY(const std::uint64_t reached, reachable(id, rows));
  ZLLM_TRY(Sequence *const sequence, find(id));
  if (reached == sequence->length) {
    return reached;
  }
  std::vector<Checkpoint>& marks = sequence->checkpoints;
  while (!marks.empty() && marks.back().rows > reached) {
    pool_.release(marks.back().slot);
    marks.pop_back();
  }
  pool_.release(*sequence->committed);
  sequence->committed = std::nullopt;
  if (reached != 0) {
    sequence->committed = marks.back().slot;
    pool_.share(marks.back().slot);
  }
  sequence->length = reached;
  return reached;
}

Result<std::uint64_t> SlotTable::length(SequenceId id) const {
  ZLLM_TRY(const Sequence *const sequence, find(id));
  return sequence->length;
}

Result<std::optional<SlotId>> SlotTable::committed(SequenceId id) const {
  ZLLM_TRY(const Sequence *const sequence, find(id));
  return sequence->committed;
}

Result<std::optional<SlotRound>> SlotTable::open_round(SequenceId id) const {
  ZLLM_TRY(const Sequence *const sequence, find(id));
  return sequence->open;
}

Result<std::uint32_t> SlotTable::slot_count(SequenceId id) const {
  ZLLM_TRY(const Sequence *const sequence, find(id));
  // Of the checkpoints only the last can be the committed slot: rows ascend.
  const std::vector<Checkpoint>& marks = sequence->checkpoints;
  const bool is_own =
      sequence->committed && (marks.empty() || marks.back().slot != *sequence->committed);
  const std::size_t others = (is_own ? 1u : 0u) + (sequence->open ? 1u : 0u);
  return static_cast<std::uint32_t>(marks.size() + others);
}

HeldPlaces<SlotId> SlotTable::held(std::span<const SequenceId> ids) const {
  HeldPlaces<SlotId> places(pool_);
  for (const SequenceId id : ids) {
    const Sequence& sequence = sequences_.at(id);
    for (const Checkpoint& mark : sequence.checkpoints) {
      places.add(mark.slot);
    }
    if (sequence.committed) {
      places.add(*sequence.committed);
    }
    if (sequence.open) {
      places.add(sequence.open->to);
    }
  }
  return places;
}

Result<const SlotTable::Sequence *> SlotTable::find(SequenceId id) const {
  const auto found = sequences_.find(id);
  if (found == sequences_.end()) {
    return Error{Code::not_found, concat("sequence ", id.value(), " does not exist")};
  }
  return &found->second;
}

Result<SlotTable::Sequence *> SlotTable::find(SequenceId id) {
  const auto found = sequences_.find(id);
  if (found == sequences_.end()) {
    return Error{Code::not_found, concat("sequence ", id.value(), " does not exist")};
  }
  return &found->second;
}

}  // namespace zllm::kv_cache
