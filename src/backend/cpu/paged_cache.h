#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <zllm/backend/capability/paged.h>
#include <zllm/base/result.h>
#include <zllm/base/strong.h>
#include <zllm/kernel/cpu/kv_page.h>

namespace zllm::backend::cpu {

// The pages of all planes in one reservation of address space: a page that was never written takes
// no memory. A page is contiguous over its planes; kernel/cpu/kv_page.h and latent_page.h lay out a
// plane.
class PagedCache {
 public:
  static Result<PagedCache> make(const PagedCacheSpec& spec);

  PagedCache(PagedCache&& other) noexcept;
  PagedCache& operator=(PagedCache&& other) noexcept;
  ~PagedCache();

  static std::size_t page_bytes(const PagedCacheSpec& spec);

  const PagedCacheSpec& spec() const { return spec_; }
  kernel::cpu::KvType kernel_type() const;
  std::span<std::byte> page(PageId id);
  std::span<const std::byte> page(PageId id) const;
  std::byte *page(PageId id, PlaneId plane);
  const std::byte *page(PageId id, PlaneId plane) const;

 private:
  PagedCache(PagedCacheSpec spec, std::byte *memory);

  PagedCacheSpec spec_;
  std::vector<std::size_t> plane_begins_;  // of each plane in a page, in bytes, and the end
  std::byte *memory_ = nullptr;            // owned, an anonymous mapping
};

}  // namespace zllm::backend::cpu
