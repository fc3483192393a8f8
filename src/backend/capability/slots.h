#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include <zllm/attention/delta_rule/spec.h>
#include <zllm/backend/capability/backend.h>

namespace zllm::backend {

// Rows of a verify segment whose update inputs a slot can keep: more drafts than any speculation
// gains from, few enough that the inputs stay smaller than the state.
constexpr std::uint32_t kJournalRows = 16;

// Keys and gates of the positions of the pool in progress (attention/sparse/kpool.h).
struct OpenPoolSpec {
  std::uint32_t width = 0;
  std::uint32_t pool = 1;

  bool operator==(const OpenPoolSpec&) const = default;
};

// One recurrent layer's share of a slot.
using SlotPlaneSpec = std::variant<attention::delta_rule::Spec, OpenPoolSpec>;
using SlotPlaneId = Strong<struct SlotPlaneIdTag, std::uint32_t>;

// The store of the state that has one size whatever the length: a slot holds that of one sequence
// at one length, in f32. A written slot never changes, so that sequences and checkpoints share it.
struct SlotCacheSpec {
  std::vector<SlotPlaneSpec> planes;
  std::uint32_t slots = 0;  // capacity; memory may be taken only as slots are first written
};

// A segment's way through a recurrent layer: from one slot to a new one.
struct SlotSegment {
  std::uint32_t first_row = 0;
  std::uint32_t rows = 0;
  std::uint64_t position = 0;  // of the first row
  std::optional<SlotId> from;  // nothing: the state before the first row, all zeros
  SlotId to;
  // Also keep each row's update inputs in `to`, so that replay() can stop earlier; at most
  // kJournalRows rows.
  bool journal = false;
};

template <class B>
concept SlotBackend =
    Backend<B> &&
    requires(B& b, const B& cb, typename B::SlotCache& cache, const typename B::SlotCache& ccache,
             std::span<std::byte> out, std::span<const std::byte> in) {
      { b.slot_cache(SlotCacheSpec{}) } -> std::same_as<Result<typename B::SlotCache>>;
      // Of an exported slot: the state without journal.
      { cb.slot_bytes(SlotCacheSpec{}) } -> std::same_as<std::size_t>;
      // Makes `to`, written with a journal by a segment, the state after the segment's first
      // `rows` rows (the number after the slots): from, to, rows.
      {
        b.replay(cache, std::optional<SlotId>{}, SlotId{}, std::uint32_t{})
      } -> std::same_as<Status>;
      { b.export_slot(ccache, SlotId{}, out) } -> std::same_as<Status>;
      { b.import_slot(cache, SlotId{}, in) } -> std::same_as<Status>;
    };

}  // namespace zllm::backend
