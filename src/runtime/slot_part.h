#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <zllm/backend/capability/slots.h>
#include <zllm/base/check.h>
#include <zllm/base/text.h>
#include <zllm/kv_cache/slot_table.h>
#include <zllm/runtime/round.h>
#include <zllm/runtime/sequence_states.h>

namespace zllm::runtime {

// The recurrent part of a model's states: one slot holds the state of every recurrent layer after
// the same row. Sequences are named by the paged part.
template <backend::SlotBackend B>
class SlotPart {
 public:
  using Cache = typename B::SlotCache;

  SlotPart(B& backend, Cache cache, const backend::SlotCacheSpec& spec)
      : backend_(backend),
        cache_(std::move(cache)),
        slot_bytes_(backend.slot_bytes(spec)),
        table_(spec.slots) {}

  Cache& cache() { return cache_; }
  kv_cache::SlotTable& table() { return table_; }
  const kv_cache::SlotTable& table() const { return table_; }

  // Verify segments keep a journal, since commit may keep a part of them.
  Status reserve(const Segment& segment) {
    const bool is_verify = segment.kind == SegmentKind::verify;
    if (is_verify && segment.tokens.size() > backend::kJournalRows) {
      return Error{Code::invalid_argument,
                   concat("segment of sequence ", segment.sequence.value(), ": a verify of ",
                          segment.tokens.size(), " rows where recurrent state keeps the inputs of ",
                          backend::kJournalRows)};
    }
    ZLLM_TRY(table_.reserve(segment.sequence, segment.tokens.size(), is_verify));
    return {};
  }

  // The slots of every segment of a reserved round, row numbers counted over the round.
  Result<std::vector<backend::SlotSegment>> segments(const Round& round) const {
    std::vector<backend::SlotSegment> segments;
    std::uint32_t row = 0;
    for (const Segment& segment : round.segments) {
      ZLLM_TRY(const auto open, table_.open_round(segment.sequence));
      if (!open) {
        return Error{Code::invalid_argument,
                     concat("segment of sequence ", segment.sequence.value(), " is not reserved")};
      }
      const auto rows = static_cast<std::uint32_t>(open->rows);
      segments.push_back({.first_row = row,
                          .rows = rows,
                          .position = segment.start,
                          .from = open->from,
                          .to = open->to,
                          .journal = open->is_journaled});
      row += rows;
    }
    return segments;
  }

  // Replays the pending slot where a part is kept. A failed replay leaves the round open, to be
  // rolled back.
  Status commit(SequenceId id, std::uint64_t rows) {
    ZLLM_TRY(const bool needs_replay, table_.needs_replay(id, rows));
    if (needs_replay) {
      ZLLM_TRY(const auto open, table_.open_round(id));
      ZLLM_TRY(backend_.replay(cache_, open->from, open->to, static_cast<std::uint32_t>(rows)));
    }
    return table_.commit(id, rows);
  }

  Result<std::uint64_t> size_bytes(SequenceId id) const {
    ZLLM_TRY(const std::uint32_t slots, table_.slot_count(id));
    return slots * std::uint64_t{slot_bytes_};
  }

  HeldBytes held_bytes(std::span<const SequenceId> ids) const {
    const kv_cache::HeldPlaces<SlotId> slots = table_.held(ids);
    return {.all = slots.all() * slot_bytes_, .alone = slots.alone() * slot_bytes_};
  }

  // Bytes of the exported state of a sequence with so many rows.
  std::size_t export_bytes(std::uint64_t rows) const { return rows == 0 ? 0 : slot_bytes_; }

  Status export_slot(SequenceId id, std::span<std::byte> out) const {
    ZLLM_TRY(const std::optional<SlotId> slot, table_.committed(id));
    return slot ? backend_.export_slot(cache_, *slot, out) : Status();
  }

  // Fills a new sequence with the state after `rows` rows.
  Status import_slot(SequenceId id, std::uint64_t rows, std::span<const std::byte> in) {
    if (rows == 0) {
      return {};
    }
    ZLLM_TRY(const kv_cache::SlotRound open, table_.reserve(id, rows, false));
    ZLLM_TRY(backend_.import_slot(cache_, open.to, in));
    return table_.commit(id, rows);
  }

 private:
  B& backend_;
  Cache cache_;
  std::size_t slot_bytes_;
  kv_cache::SlotTable table_;
};

}  // namespace zllm::runtime
