#pragma once

#include <cstdint>
#include <vector>

#include <zllm/kv_cache/reference_pool.h>

namespace zllm::kv_cache {

// Counts the distinct places of a pool that some holders refer to, from their references added one
// by one.
template <class Id>
class HeldPlaces {
 public:
  explicit HeldPlaces(const ReferencePool<Id>& pool) : pool_(pool) {}

  void add(Id id) {
    if (id.value() >= added_.size()) {
      added_.resize(std::uint64_t{id.value()} + 1);
    }
    const std::uint32_t added = ++added_[id.value()];
    all_ += added == 1 ? 1u : 0u;
    alone_ += added == pool_.references(id) ? 1u : 0u;
  }

  std::uint64_t all() const { return all_; }
  std::uint64_t alone() const { return alone_; }  // that nobody else refers to

 private:
  const ReferencePool<Id>& pool_;
  std::vector<std::uint32_t> added_;
  std::uint64_t all_ = 0;
  std::uint64_t alone_ = 0;
};

}  // namespace zllm::kv_cache
