#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <zllm/backend/cpu/paged_cache.h>

namespace zllm::backend::cpu {

// Addresses of one plane of a segment's pages.
inline std::vector<std::byte *> segment_pages(PagedCache& cache, PlaneId plane,
                                              std::span<const PageId> pages) {
  std::vector<std::byte *> addresses;
  addresses.reserve(pages.size());
  for (const PageId page : pages) {
    addresses.push_back(cache.page(page, plane));
  }
  return addresses;
}

}  // namespace zllm::backend::cpu
