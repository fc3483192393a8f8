#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include <zllm/attention/spec.h>
#include <zllm/backend/capability/backend.h>
#include <zllm/kv_cache/sequence_table.h>
#include <zllm/rope/spec.h>

namespace zllm::backend {

enum class KvType : std::uint8_t { f32, f16 };

// The page store of all layers of one model.
struct PagedCacheSpec {
  std::uint32_t layers = 0;
  std::uint32_t kv_heads = 0;
  std::uint32_t head = 0;
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

// How rotate() turns the front of every head; the angles come as tables of cos and sin, one row a
// row of the tensor, rotated / 2 columns (rope/reference.h).
struct RotarySpec {
  std::uint32_t head = 0;
  std::uint32_t rotated = 0;
  rope::Pairing pairing = rope::Pairing::half;
};

// Grouped-query attention over pages. attend() stores the roped keys and the values of all rows in
// the cache, then writes each row's attention; rows of a page are stored in the cache's type and
// read back from it, so prefill and decode see the same rounding (attention/reference.h).
template <class B>
concept GqaBackend =
    Backend<B> &&
    requires(B& b, const B& cb, typename B::PagedCache& cache, const typename B::PagedCache& ccache,
             typename B::Tensor& t, const typename B::Tensor& ct,
             std::span<const PagedSegment> segments, std::span<const kv_cache::PageCopy> copies,
             std::span<std::byte> out, std::span<const std::byte> in) {
      { B::kPageTokens } -> std::convertible_to<std::uint32_t>;
      { b.paged_cache(PagedCacheSpec{}) } -> std::same_as<Result<typename B::PagedCache>>;
      { cb.page_bytes(PagedCacheSpec{}) } -> std::same_as<std::size_t>;  // one page, all layers
      { b.copy_pages(cache, copies) } -> std::same_as<Status>;
      { b.rotate(t, RotarySpec{}, ct, ct) } -> std::same_as<Status>;
      {
        b.attend(cache, LayerId{}, attention::GqaSpec{}, segments, ct, ct, ct, t)
      } -> std::same_as<Status>;  // queries, keys, values, out
      { b.export_page(ccache, PageId{}, out) } -> std::same_as<Status>;
      { b.import_page(cache, PageId{}, in) } -> std::same_as<Status>;
    };

}  // namespace zllm::backend
