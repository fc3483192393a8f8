#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <zllm/base/strong.h>

namespace zllm::kv_cache {

// Reference-counted slots of one page store. Holds no memory of the pages themselves: the backend
// owns that and is addressed by PageId. Lowest free slot first, so that a short run touches little.
// Not thread-safe.
class PagePool {
 public:
  explicit PagePool(std::uint32_t capacity);

  std::uint32_t capacity() const { return capacity_; }
  std::uint32_t free_count() const { return capacity_ - used_; }

  // A page with one reference, or nothing when all are taken.
  std::optional<PageId> allocate();
  void share(PageId page);    // one more reference
  void release(PageId page);  // one fewer; the last one frees the page
  std::uint32_t references(PageId page) const;

 private:
  std::uint32_t capacity_;
  std::uint32_t used_ = 0;
  std::vector<std::uint32_t> references_;  // grows with the highest slot ever used
  std::vector<std::uint32_t> freed_;       // min-heap of freed slots below references_.size()
};

}  // namespace zllm::kv_cache
