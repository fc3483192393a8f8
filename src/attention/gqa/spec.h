#pragma once

#include <cstdint>

namespace zllm::attention::gqa {

// Grouped query attention of one layer. Formulas: reference.h.
struct Spec {
  std::uint32_t query_heads = 0;
  std::uint32_t kv_heads = 0;    // divides query_heads
  std::uint32_t head = 0;        // width of a query or key head
  std::uint32_t value_head = 0;  // width of a value head; 0 = head
  float scale = 0.0f;            // multiplies query . key; usually 1/sqrt(head)
  std::uint32_t window = 0;      // keys that a query sees, itself included; 0 = all
  float softcap = 0.0f;          // scaled scores become cap * tanh(score / cap); 0 = none

  bool operator==(const Spec&) const = default;
};

constexpr std::uint32_t value_width(const Spec& spec) {
  return spec.value_head != 0 ? spec.value_head : spec.head;
}

// Whether the query at one position sees the key at the other: no later one, and within a window
// (0 = all) the last `window` ones, itself included.
constexpr bool visible(std::uint32_t window, std::uint64_t query, std::uint64_t key) {
  return key <= query && (window == 0 || query - key < window);
}

// The first position that a query sees.
constexpr std::uint64_t first_visible(std::uint32_t window, std::uint64_t query) {
  return window == 0 || query < window ? 0 : query - window + 1;
}

}  // namespace zllm::attention::gqa
