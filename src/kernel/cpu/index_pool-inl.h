#pragma once

#include <zllm/kernel/cpu/exponential-inl.h>
#include <zllm/kernel/cpu/index.h>

namespace zllm::kernel::cpu {

// Lanes [d, d + count) of the pool's key.
template <class S>
typename S::Vec pooled_lanes(const IndexAppendParams& params, std::size_t d, std::size_t count) {
  using Vec = typename S::Vec;
  if (params.bias == nullptr) {
    return S::load_first(params.keys[0] + d, count);
  }
  const auto gate = [&](std::size_t member) {
    return S::add(S::load_first(params.gates[member] + d, count),
                  S::load_first(params.bias + member * params.width + d, count));
  };
  Vec largest = gate(0);
  for (std::size_t member = 1; member < params.pool; ++member) {
    largest = S::maximum(gate(member), largest);
  }
  Vec total = S::zero();
  Vec sum = S::zero();
  for (std::size_t member = 0; member < params.pool; ++member) {
    const Vec weight = exponential<S>(S::subtract(gate(member), largest));
    total = S::add(total, weight);
    sum = S::fma(weight, S::load_first(params.keys[member] + d, count), sum);
  }
  return S::divide(sum, total);
}

template <class S, class Element>
void append_pool(const IndexAppendParams& params) {
  const std::size_t page = ((params.index + 1) * params.pool - 1) / kPageTokens;
  const std::size_t columns = index_columns(params.pool);
  Element *const to = reinterpret_cast<Element *>(params.pages[page]) +
                      (params.index - first_pool(page, params.pool));
  for (std::size_t d = 0; d < params.width; d += S::kLanes) {
    const std::size_t left = params.width - d;
    const std::size_t count = left < S::kLanes ? left : S::kLanes;
    Element lanes[S::kLanes];
    S::store(lanes, pooled_lanes<S>(params, d, count));
    for (std::size_t lane = 0; lane < count; ++lane) {
      to[(d + lane) * columns] = lanes[lane];
    }
  }
}

template <class S>
void index_append(const IndexAppendParams& params) {
  if (params.type == KvType::f32) {
    append_pool<S, float>(params);
  } else {
    append_pool<S, std::uint16_t>(params);
  }
}

}  // namespace zllm::kernel::cpu
