#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <zllm/backend/capability/slots.h>
#include <zllm/base/result.h>

namespace zllm::backend::cpu {

// The slots of all recurrent layers in one reservation of address space: a slot or journal that was
// never written takes no memory. A slot is the states of all planes, each on a cache line border,
// then their journals. All values are f32.
//
// A plane of the delta rule: its state is the tail [taps - 1][channels] of the convolution's
// inputs, oldest first, then the matrices [value_heads][key_width][value_width]. A journal row is
// all that an update takes without any weight (kernel/cpu/delta_rule.h):
//   [inputs: channels | keys: key_heads * key_width | updates: value_heads * value_width |
//    decays: as the spec has them]
// An open pool: open_pool.h.
class SlotCache {
 public:
  static Result<SlotCache> make(const SlotCacheSpec& spec);

  SlotCache(SlotCache&& other) noexcept;
  SlotCache& operator=(SlotCache&& other) noexcept;
  ~SlotCache();

  // Of the states alone.
  static std::size_t slot_bytes(const SlotCacheSpec& spec);

  const SlotCacheSpec& spec() const { return spec_; }
  std::span<float> states(SlotId slot);
  std::span<const float> states(SlotId slot) const;
  std::span<float> state(SlotId slot, SlotPlaneId plane);
  // Nothing: the state before the first row, an empty span.
  std::span<const float> state(std::optional<SlotId> slot, SlotPlaneId plane) const;
  // [kJournalRows][journal_width of the plane].
  std::span<float> journal(SlotId slot, SlotPlaneId plane);

 private:
  SlotCache(SlotCacheSpec spec, std::byte *memory);
  float *begin(SlotId slot) const;

  SlotCacheSpec spec_;
  std::vector<std::size_t> state_begins_;    // of each plane in a slot, in floats, and the end
  std::vector<std::size_t> journal_begins_;  // likewise
  std::byte *memory_ = nullptr;              // owned, an anonymous mapping
};

// Floats of one plane's state, and of one row of its journal.
std::size_t state_width(const SlotPlaneSpec& plane);
std::size_t journal_width(const SlotPlaneSpec& plane);

}  // namespace zllm::backend::cpu
