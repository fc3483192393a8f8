#include <zllm/kv_cache/page_pool.h>

#include <algorithm>
#include <functional>

#include <zllm/base/check.h>

namespace zllm::kv_cache {

PagePool::PagePool(std::uint32_t capacity) : capacity_(capacity) {}

std::optional<PageId> PagePool::allocate() {
  if (used_ == capacity_) {
    return std::nullopt;
  }
  ++used_;
  if (freed_.empty()) {
    references_.push_back(1);
    return PageId(static_cast<std::uint32_t>(references_.size() - 1));
  }
  std::ranges::pop_heap(freed_, std::greater{});
  const std::uint32_t slot = freed_.back();
  freed_.pop_back();
  references_[slot] = 1;
  return PageId(slot);
}

void PagePool::share(PageId page) {
  ZLLM_CHECK(references(page) > 0, "share of a free page");
  ++references_[page.value()];
}

void PagePool::release(PageId page) {
  ZLLM_CHECK(references(page) > 0, "release of a free page");
  if (--references_[page.value()] == 0) {
    freed_.push_back(page.value());
    std::ranges::push_heap(freed_, std::greater{});
    --used_;
  }
}

std::uint32_t PagePool::references(PageId page) const {
  return page.value() < references_.size() ? references_[page.value()] : 0;
}

}  // namespace zllm::kv_cache
