#pragma once

#include <cstddef>
#include <cstdint>

#include <zllm/kernel/cpu/kv_page.h>

// Storage of latents and index keys of one plane, in pages of kPageTokens consecutive positions,
// aligned to kPageAlignment; copying a page is a plain memcpy.
//
// Latents: [kPageTokens][latent_stride(width)], rows by position.
//
// Index keys transposed: [width][index_columns(pool)]. Pool p (positions [p * pool, (p + 1) *
// pool)) lies in the page of its last position, in column p - first pool that ends in that page;
// pool 1 makes every position a pool of its own. Columns beyond the pools that end in the page mean
// nothing.
namespace zllm::kernel::cpu {

// Elements from one position's latent to the next one's.
std::size_t latent_stride(std::size_t width);
std::size_t latent_page_bytes(std::size_t width, KvType type);

// The first pool whose last position is in the page.
constexpr std::size_t first_pool(std::size_t page, std::size_t pool) {
  return page * kPageTokens / pool;
}
// Pools that end in the page.
constexpr std::size_t pools_in_page(std::size_t page, std::size_t pool) {
  return first_pool(page + 1, pool) - first_pool(page, pool);
}
std::size_t index_columns(std::size_t pool);
std::size_t index_page_bytes(std::size_t width, std::size_t pool, KvType type);

}  // namespace zllm::kernel::cpu
