#pragma once

#include <concepts>
#include <cstdint>

#include <zllm/backend/capability/backend.h>
#include <zllm/rope/spec.h>

namespace zllm::backend {

// How rotate() turns lanes [first, first + rotated) of every head; the angles come as tables of cos
// and sin, one row a row of the tensor, rotated / 2 columns (rope/reference.h).
struct RotarySpec {
  std::uint32_t head = 0;
  std::uint32_t rotated = 0;
  rope::Pairing pairing = rope::Pairing::half;
  std::uint32_t first = 0;
};

template <class B>
concept RotaryBackend =
    Backend<B> && requires(B& b, typename B::Tensor& t, const typename B::Tensor& ct) {
      { b.rotate(t, RotarySpec{}, ct, ct) } -> std::same_as<Status>;  // heads, cosines, sines
    };

}  // namespace zllm::backend
