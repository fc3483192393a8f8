#include <zllm/backend/cpu/paged_cache.h>

#include <sys/mman.h>

#include <utility>

#include <zllm/base/checked.h>
#include <zllm/base/text.h>
#include <zllm/kernel/cpu/latent_page.h>

namespace zllm::backend::cpu {
namespace {

kernel::cpu::KvType to_kernel(KvType type) {
  return type == KvType::f32 ? kernel::cpu::KvType::f32 : kernel::cpu::KvType::f16;
}

std::size_t plane_bytes(const PlaneSpec& plane, KvType type) {
  const kernel::cpu::KvType stored = to_kernel(type);
  switch (plane.kind) {
    case PlaneKind::keys_values:
      return kernel::cpu::kv_page_bytes(plane.heads, plane.width, stored);
    case PlaneKind::latents:
      return kernel::cpu::latent_page_bytes(plane.width, stored);
    case PlaneKind::index_keys:
      return kernel::cpu::index_page_bytes(plane.width, plane.pool, stored);
  }
  ZLLM_CHECK(false, "a PlaneKind outside its enumeration");
}

std::vector<std::size_t> plane_begins(const PagedCacheSpec& spec) {
  std::vector<std::size_t> begins = {0};
  for (const PlaneSpec& plane : spec.planes) {
    begins.push_back(begins.back() + plane_bytes(plane, spec.type));
  }
  return begins;
}

std::size_t total_bytes(const PagedCacheSpec& spec) {
  return PagedCache::page_bytes(spec) * spec.pages;
}

}  // namespace

std::size_t PagedCache::page_bytes(const PagedCacheSpec& spec) { return plane_begins(spec).back(); }

Result<PagedCache> PagedCache::make(const PagedCacheSpec& spec) {
  const auto bytes = checked_multiply(page_bytes(spec), std::size_t{spec.pages});
  // A stage may have none of the layers that keep something here.
  void *memory = bytes == std::size_t{0} ? nullptr : MAP_FAILED;
  if (bytes && *bytes > 0) {
    memory = mmap(nullptr, *bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  if (memory == MAP_FAILED) {
    return Error{Code::resource_exhausted, concat("no address space for a cache of ", spec.pages,
                                                  " pages of ", page_bytes(spec), " bytes")};
  }
  return PagedCache(spec, static_cast<std::byte *>(memory));
}

PagedCache::PagedCache(PagedCacheSpec spec, std::byte *memory)
    : spec_(std::move(spec)), plane_begins_(plane_begins(spec_)), memory_(memory) {}

PagedCache::PagedCache(PagedCache&& other) noexcept
    : spec_(std::move(other.spec_)),
      plane_begins_(std::move(other.plane_begins_)),
      memory_(std::exchange(other.memory_, nullptr)) {}

PagedCache& PagedCache::operator=(PagedCache&& other) noexcept {
  std::swap(spec_, other.spec_);
  std::swap(plane_begins_, other.plane_begins_);
  std::swap(memory_, other.memory_);
  return *this;
}

PagedCache::~PagedCache() {
  if (memory_ != nullptr) {
    munmap(memory_, total_bytes(spec_));
  }
}

kernel::cpu::KvType PagedCache::kernel_type() const { return to_kernel(spec_.type); }

std::span<std::byte> PagedCache::page(PageId id) {
  ZLLM_CHECK(id.value() < spec_.pages, "a page outside the cache");
  return {memory_ + plane_begins_.back() * id.value(), plane_begins_.back()};
}

std::span<const std::byte> PagedCache::page(PageId id) const {
  ZLLM_CHECK(id.value() < spec_.pages, "a page outside the cache");
  return {memory_ + plane_begins_.back() * id.value(), plane_begins_.back()};
}

std::byte *PagedCache::page(PageId id, PlaneId plane) {
  ZLLM_CHECK(plane.value() < spec_.planes.size(), "a plane outside the cache");
  return page(id).data() + plane_begins_[plane.value()];
}

const std::byte *PagedCache::page(PageId id, PlaneId plane) const {
  ZLLM_CHECK(plane.value() < spec_.planes.size(), "a plane outside the cache");
  return page(id).data() + plane_begins_[plane.value()];
}

}  // namespace zllm::backend::cpu
