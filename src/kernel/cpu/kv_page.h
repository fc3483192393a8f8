#pragma once

#include <cstddef>
#include <cstdint>

// Storage of keys and values of one layer: pages of kPageTokens consecutive positions. A page
// holds, for each kv head, the keys transposed [head][kPageTokens] and then the values
// [kPageTokens][kv_value_stride(head)]. Position p is token p % kPageTokens of page
// p / kPageTokens. Pages are aligned to kPageAlignment bytes; copying one is a plain memcpy.
namespace zllm::kernel::cpu {

enum class KvType : std::uint8_t { f32, f16 };

// Two vectors of 16 lanes: a row of transposed keys is one cache line in f16.
constexpr std::size_t kPageTokens = 32;
constexpr std::size_t kPageAlignment = 64;
// Values are padded to the widest vector, so that no kernel needs a tail in its inner loop.
constexpr std::size_t kValuePadding = 16;

std::size_t kv_element_bytes(KvType type);
// Elements from one token's values to the next one's.
std::size_t kv_value_stride(std::size_t head);
// Elements of one kv head in a page: its keys, then its values from head * kPageTokens on.
std::size_t kv_head_elements(std::size_t head);
std::size_t kv_page_bytes(std::size_t kv_heads, std::size_t head, KvType type);

// Writes rows of keys and values of one sequence at consecutive positions. Row r, kv head h lies
// at r * row_stride + h * head. Pages touched must be exclusively owned by the sequence.
struct KvAppendParams {
  const float *keys = nullptr;  // already rotated
  const float *values = nullptr;
  std::size_t key_row_stride = 0;  // floats
  std::size_t value_row_stride = 0;
  std::size_t rows = 0;
  std::size_t first_position = 0;
  std::size_t kv_heads = 0;
  std::size_t head = 0;
  KvType type = KvType::f32;
  std::byte *const *pages = nullptr;  // [position / kPageTokens], of this layer
};

}  // namespace zllm::kernel::cpu
