#include <zllm/kernel/cpu/kv_page.h>

namespace zllm::kernel::cpu {

std::size_t kv_element_bytes(KvType type) { return type == KvType::f32 ? 4 : 2; }

std::size_t kv_value_stride(std::size_t head) {
  return (head + kValuePadding - 1) / kValuePadding * kValuePadding;
}

std::size_t kv_head_elements(std::size_t head) {
  return kPageTokens * (head + kv_value_stride(head));
}

std::size_t kv_page_bytes(std::size_t kv_heads, std::size_t head, KvType type) {
  return kv_heads * kv_head_elements(head) * kv_element_bytes(type);
}

}  // namespace zllm::kernel::cpu
