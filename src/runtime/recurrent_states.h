#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <zllm/base/check.h>
#include <zllm/base/checked.h>
#include <zllm/base/text.h>
#include <zllm/runtime/page_part.h>
#include <zllm/runtime/round_states.h>
#include <zllm/runtime/slot_part.h>

namespace zllm::runtime {

// Where RecurrentStates keeps what it holds.
template <class B>
struct RecurrentStore {
  typename B::PagedCache pages;
  backend::PagedCacheSpec page_spec;
  typename B::SlotCache slots;
  backend::SlotCacheSpec slot_spec;  // with kv_cache::slots_for(sequences) a round always finds one
  std::uint32_t sequences = 0;       // that may live at once
};

// The states of a model with both pages and recurrent layers. It can be cut at checkpoints alone;
// pages and slots always stand at the same row. Exported states have no checkpoints.
template <class B>
  requires backend::PagedBackend<B> && backend::SlotBackend<B>
class RecurrentStates final : public RoundStates {
 public:
  // context: what a sequence is expected to come to hold unless it says otherwise.
  RecurrentStates(B& backend, RecurrentStore<B> store, std::uint64_t context)
      : pages_(backend, std::move(store.pages), store.page_spec, context),
        slots_(backend, std::move(store.slots), store.slot_spec),
        sequences_(store.sequences) {}

  typename B::PagedCache& cache() { return pages_.cache(); }
  typename B::SlotCache& slots() { return slots_.cache(); }

  // The pages and slots of every segment of a reserved round, row numbers counted over the round.
  // Valid until a sequence changes.
  Result<std::vector<backend::PagedSegment>> segments(const Round& round) const {
    return pages_.segments(round);
  }
  Result<std::vector<backend::SlotSegment>> slot_segments(const Round& round) const {
    return slots_.segments(round);
  }

  // Of each segment's sequence; the round's sequences exist.
  std::vector<std::uint64_t> expected_rows(const Round& round) const {
    return pages_.expected_rows(round);
  }

  std::uint32_t free_slots() const { return slots_.table().pool().free_count(); }

  Result<SequenceId> create(std::uint64_t expected_rows) override {
    ZLLM_TRY(check_room());
    const SequenceId id = pages_.create(expected_rows);
    ZLLM_CHECK(slots_.table().create(id).ok(), "slots of a new sequence");
    return id;
  }

  Status release(SequenceId id) override {
    ZLLM_TRY(slots_.table().release(id));
    return pages_.release(id);
  }

  Result<SequenceId> fork(SequenceId id) override {
    ZLLM_TRY(check_room());
    ZLLM_TRY(const SequenceId copy, pages_.fork(id));
    ZLLM_CHECK(slots_.table().fork(id, copy).ok(), "fork of the slots of a forked sequence");
    return copy;
  }

  Status commit(SequenceId id, std::uint64_t rows) override {
    ZLLM_TRY(slots_.commit(id, rows));
    ZLLM_CHECK(pages_.table().commit(id, rows).ok(), "commit of the pages of committed slots");
    return {};
  }

  Status checkpoint(SequenceId id) override { return slots_.table().checkpoint(id); }

  Result<std::uint64_t> truncate(SequenceId id, std::uint64_t rows) override {
    ZLLM_TRY(const std::uint64_t reached, slots_.table().truncate(id, rows));
    ZLLM_CHECK(pages_.table().truncate(id, reached).ok(), "truncate of pages to where slots are");
    return reached;
  }

  Result<SequenceSnapshot> export_state(SequenceId id) const override {
    ZLLM_TRY(check_closed(pages_.table(), id, "export"));
    SequenceSnapshot snapshot;
    snapshot.expected_rows = pages_.expected_rows(id);
    ZLLM_TRY(snapshot.rows, rows(id));
    ZLLM_TRY(const std::size_t page_bytes, pages_.export_bytes(snapshot.rows));
    snapshot.bytes.resize(page_bytes + slots_.export_bytes(snapshot.rows));
    const std::span<std::byte> bytes(snapshot.bytes);
    ZLLM_TRY(pages_.export_pages(id, bytes.first(page_bytes)));
    ZLLM_TRY(slots_.export_slot(id, bytes.subspan(page_bytes)));
    return snapshot;
  }

  Result<SequenceId> import_state(const SequenceSnapshot& snapshot) override {
    ZLLM_TRY(const std::size_t page_bytes, pages_.export_bytes(snapshot.rows));
    const auto bytes = checked_add(page_bytes, slots_.export_bytes(snapshot.rows));
    ZLLM_TRY(check_size(snapshot, bytes));
    ZLLM_TRY(const SequenceId id, create(snapshot.expected_rows));
    Status filled = fill(id, snapshot, page_bytes);
    if (!filled.ok()) {
      ZLLM_CHECK(release(id).ok(), "release of a new sequence");
      return std::move(filled).error();
    }
    return id;
  }

  Result<std::uint64_t> rows(SequenceId id) const override { return pages_.table().length(id); }

  Result<std::uint64_t> size_bytes(SequenceId id) const override {
    ZLLM_TRY(const std::uint64_t pages, pages_.size_bytes(id));
    ZLLM_TRY(const std::uint64_t slots, slots_.size_bytes(id));
    return pages + slots;
  }

  std::uint64_t free_rows() const override { return free_slots() == 0 ? 0 : pages_.free_rows(); }

  Result<std::uint64_t> expected_rows(SequenceId id) const override {
    ZLLM_TRY(rows(id));
    return pages_.expected_rows(id);
  }
  Status share_rows(SequenceId from, SequenceId to, std::uint64_t rows) override {
    return pages_.table().share(from, to, rows);
  }
  HeldBytes held_bytes(std::span<const SequenceId> ids) const override {
    const HeldBytes pages = pages_.held_bytes(ids);
    const HeldBytes slots = slots_.held_bytes(ids);
    return {.all = pages.all + slots.all, .alone = pages.alone + slots.alone};
  }

 protected:
  // Slots first: the pages' copies are made only when both parts have room.
  Status reserve_segment(const Segment& segment) override {
    ZLLM_TRY(slots_.reserve(segment));
    Status reserved = pages_.reserve(segment);
    if (!reserved.ok()) {
      ZLLM_CHECK(slots_.table().rollback(segment.sequence).ok(), "rollback of a reserved slot");
    }
    return reserved;
  }

  Result<std::uint64_t> reachable(SequenceId id, std::uint64_t rows) const override {
    return slots_.table().reachable(id, rows);
  }

 private:
  // Every sequence that lives was promised the slots of a round.
  Status check_room() const {
    if (slots_.table().count() >= sequences_) {
      return Error{Code::resource_exhausted,
                   concat("all ", sequences_, " sequences that the model was loaded for live")};
    }
    return {};
  }

  Status fill(SequenceId id, const SequenceSnapshot& snapshot, std::size_t page_bytes) {
    const std::span<const std::byte> bytes(snapshot.bytes);
    ZLLM_TRY(pages_.import_pages(id, snapshot.rows, bytes.first(page_bytes)));
    return slots_.import_slot(id, snapshot.rows, bytes.subspan(page_bytes));
  }

  PagePart<B> pages_;
  SlotPart<B> slots_;
  std::uint32_t sequences_;
};

}  // namespace zllm::runtime
