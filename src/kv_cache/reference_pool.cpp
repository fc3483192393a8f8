#include <zllm/kv_cache/reference_pool.h>

#include <algorithm>
#include <functional>

#include <zllm/base/check.h>

namespace zllm::kv_cache {

template <class Id>
ReferencePool<Id>::ReferencePool(std::uint32_t capacity) : capacity_(capacity) {}

template <class Id>
std::optional<Id> ReferencePool<Id>::allocate() {
  if (used_ == capacity_) {
    return std::nullopt;
  }
  ++used_;
  if (freed_.empty()) {
    references_.push_back(1);
    return Id(static_cast<std::uint32_t>(references_.size() - 1));
  }
  std::ranges::pop_heap(freed_, std::greater{});
  const std::uint32_t place = freed_.back();
  freed_.pop_back();
  references_[place] = 1;
  return Id(place);
}

template <class Id>
void ReferencePool<Id>::share(Id id) {
  ZLLM_CHECK(references(id) > 0, "share of a free page or slot");
  ++references_[id.value()];
}

template <class Id>
void ReferencePool<Id>::release(Id id) {
  ZLLM_CHECK(references(id) > 0, "release of a free page or slot");
  if (--references_[id.value()] == 0) {
    freed_.push_back(id.value());
    std::ranges::push_heap(freed_, std::greater{});
    --used_;
  }
}

template <class Id>
std::uint32_t ReferencePool<Id>::references(Id id) const {
  return id.value() < references_.size() ? references_[id.value()] : 0;
}

template class ReferencePool<PageId>;
template class ReferencePool<SlotId>;

}  // namespace zllm::kv_cache
