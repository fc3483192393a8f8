#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <zllm/base/strong.h>

namespace zllm::kv_cache {

// Reference-counted places of one store of pages or slots. Holds no memory of them: the backend
// owns that and is addressed by the id. Lowest free place first, so that a short run touches
// little. Not thread-safe.
template <class Id>
class ReferencePool {
 public:
  explicit ReferencePool(std::uint32_t capacity);

  std::uint32_t capacity() const { return capacity_; }
  std::uint32_t free_count() const { return capacity_ - used_; }

  // A place with one reference, or nothing when all are taken.
  std::optional<Id> allocate();
  void share(Id id);    // one more reference
  void release(Id id);  // one fewer; the last one frees the place
  std::uint32_t references(Id id) const;

 private:
  std::uint32_t capacity_;
  std::uint32_t used_ = 0;
  std::vector<std::uint32_t> references_;  // grows with the highest place ever used
  std::vector<std::uint32_t> freed_;       // min-heap of freed places below references_.size()
};

using PagePool = ReferencePool<PageId>;
using SlotPool = ReferencePool<SlotId>;

extern template class ReferencePool<PageId>;
extern template class ReferencePool<SlotId>;

}  // namespace zllm::kv_cache
