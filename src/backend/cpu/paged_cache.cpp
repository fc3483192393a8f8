#include <zllm/backend/cpu/paged_cache.h>

#include <sys/mman.h>

#include <utility>

#include <zllm/base/checked.h>
#include <zllm/base/text.h>

namespace zllm::backend::cpu {
namespace {

kernel::cpu::KvType to_kernel(KvType type) {
  return type == KvType::f32 ? kernel::cpu::KvType::f32 : kernel::cpu::KvType::f16;
}

std::size_t layer_bytes(const PagedCacheSpec& spec) {
  return kernel::cpu::kv_page_bytes(spec.kv_heads, spec.head, to_kernel(spec.type));
}

std::size_t total_bytes(const PagedCacheSpec& spec) {
  return PagedCache::page_bytes(spec) * spec.pages;
}

}  // namespace

std::size_t PagedCache::page_bytes(const PagedCacheSpec& spec) {
  return layer_bytes(spec) * spec.layers;
}

Result<PagedCache> PagedCache::make(const PagedCacheSpec& spec) {
  const auto bytes = checked_multiply(page_bytes(spec), std::size_t{spec.pages});
  void *memory = MAP_FAILED;
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

PagedCache::PagedCache(const PagedCacheSpec& spec, std::byte *memory)
    : spec_(spec), layer_bytes_(layer_bytes(spec)), memory_(memory) {}

PagedCache::PagedCache(PagedCache&& other) noexcept
    : spec_(other.spec_),
      layer_bytes_(other.layer_bytes_),
      memory_(std::exchange(other.memory_, nullptr)) {}

PagedCache& PagedCache::operator=(PagedCache&& other) noexcept {
  std::swap(spec_, other.spec_);
  std::swap(layer_bytes_, other.layer_bytes_);
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
  return {page(id, LayerId(0)), page_bytes(spec_)};
}

std::span<const std::byte> PagedCache::page(PageId id) const {
  ZLLM_CHECK(id.value() < spec_.pages, "a page outside the cache");
  return {memory_ + page_bytes(spec_) * id.value(), page_bytes(spec_)};
}

std::byte *PagedCache::page(PageId id, LayerId layer) {
  ZLLM_CHECK(id.value() < spec_.pages && layer.value() < spec_.layers, "a page outside the cache");
  return memory_ + page_bytes(spec_) * id.value() + layer_bytes_ * layer.value();
}

}  // namespace zllm::backend::cpu
