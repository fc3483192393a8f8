#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <zllm/backend/capability/backend.h>
#include <zllm/kv_cache/sequence_table.h>

namespace zllm::backend {

enum class KvType : std::uint8_t { f32, f16 };

constexpr encoding::Encoding encoding_of(KvType type) {
  return type == KvType::f32 ? encoding::Encoding::f32 : encoding::Encoding::f16;
}

// What one plane of a page keeps of its positions.
enum class PlaneKind : std::uint8_t {
  keys_values,  // `heads` keys and values of `width`
  latents,      // one row of `width`: the latent, then the shared key
  index_keys,   // one row of `width` for every `pool` positions, of complete pools alone
};

struct PlaneSpec {
  PlaneKind kind = PlaneKind::keys_values;
  std::uint32_t heads = 1;
  std::uint32_t width = 0;
  std::uint32_t pool = 1;

  bool operator==(const PlaneSpec&) const = default;
};

// A plane by its place in PagedCacheSpec::planes.
using PlaneId = Strong<struct PlaneIdTag, std::uint32_t>;

// The page store of one model: a page holds the rows of kPageTokens positions in every plane. A
// layer has as many planes as it keeps kinds of things.
struct PagedCacheSpec {
  std::vector<PlaneSpec> planes;
  KvType type = KvType::f16;
  std::uint32_t pages = 0;  // capacity; memory may be taken only as pages are first written
};

// Consecutive rows of a round that belong to one sequence.
struct PagedSegment {
  std::uint32_t first_row = 0;
  std::uint32_t rows = 0;
  std::uint64_t position = 0;     // of the first row
  std::span<const PageId> pages;  // of the sequence, covering position + rows
};

// Pages as bytes: whatever the planes hold, a page is copied, exported and imported whole.
template <class B>
concept PagedBackend =
    Backend<B> &&
    requires(B& b, const B& cb, typename B::PagedCache& cache, const typename B::PagedCache& ccache,
             std::span<const kv_cache::PageCopy> copies, std::span<std::byte> out,
             std::span<const std::byte> in) {
      { B::kPageTokens } -> std::convertible_to<std::uint32_t>;
      { b.paged_cache(PagedCacheSpec{}) } -> std::same_as<Result<typename B::PagedCache>>;
      { cb.page_bytes(PagedCacheSpec{}) } -> std::same_as<std::size_t>;  // one page, all planes
      { b.copy_pages(cache, copies) } -> std::same_as<Status>;
      { b.export_page(ccache, PageId{}, out) } -> std::same_as<Status>;
      { b.import_page(cache, PageId{}, in) } -> std::same_as<Status>;
    };

}  // namespace zllm::backend
