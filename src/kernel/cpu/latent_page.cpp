#include <zllm/kernel/cpu/latent_page.h>

namespace zllm::kernel::cpu {
namespace {

std::size_t round_up(std::size_t value, std::size_t step) {
  return (value + step - 1) / step * step;
}

}  // namespace

std::size_t latent_stride(std::size_t width) { return round_up(width, kValuePadding); }

std::size_t latent_page_bytes(std::size_t width, KvType type) {
  return round_up(kPageTokens * latent_stride(width) * kv_element_bytes(type), kPageAlignment);
}

std::size_t index_columns(std::size_t pool) {
  // Where the pool does not divide a page, some pages hold the end of one pool more than others.
  return round_up((kPageTokens + pool - 1) / pool, kValuePadding);
}

std::size_t index_page_bytes(std::size_t width, std::size_t pool, KvType type) {
  return round_up(width * index_columns(pool) * kv_element_bytes(type), kPageAlignment);
}

}  // namespace zllm::kernel::cpu
