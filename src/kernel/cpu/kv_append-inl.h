#pragma once

#include <zllm/kernel/cpu/kv_page.h>

namespace zllm::kernel::cpu {

template <class S, class Element>
void append_token(const float *key, const float *value, std::size_t head, std::size_t stride,
                  std::size_t token, Element *to) {
  Element *const key_to = to + token;
  Element *const value_to = to + head * kPageTokens + token * stride;
  for (std::size_t d = 0; d < stride; d += S::kLanes) {
    const std::size_t count = d >= head ? 0 : (head - d < S::kLanes ? head - d : S::kLanes);
    Element lanes[S::kLanes];
    S::store(lanes, S::load_first(key + d, count));
    for (std::size_t lane = 0; lane < count; ++lane) {
      key_to[(d + lane) * kPageTokens] = lanes[lane];
    }
    S::store(value_to + d, S::load_first(value + d, count));
  }
}

template <class S, class Element>
void append_heads(const KvAppendParams& params, std::size_t first_head, std::size_t last_head) {
  const std::size_t head = params.head;
  const std::size_t head_elements = kv_head_elements(head);
  const std::size_t stride = kv_value_stride(head);
  for (std::size_t kv_head = first_head; kv_head < last_head; ++kv_head) {
    for (std::size_t row = 0; row < params.rows; ++row) {
      const std::size_t position = params.first_position + row;
      auto *const page = reinterpret_cast<Element *>(params.pages[position / kPageTokens]);
      append_token<S>(params.keys + row * params.key_row_stride + kv_head * head,
                      params.values + row * params.value_row_stride + kv_head * head, head, stride,
                      position % kPageTokens, page + kv_head * head_elements);
    }
  }
}

template <class S>
void kv_append(const KvAppendParams& params, std::size_t first_head, std::size_t last_head) {
  if (params.type == KvType::f32) {
    append_heads<S, float>(params, first_head, last_head);
  } else {
    append_heads<S, std::uint16_t>(params, first_head, last_head);
  }
}

}  // namespace zllm::kernel::cpu
