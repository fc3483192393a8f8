#pragma once

#include <cstdint>

namespace zllm::attention::mla {

// Multi-head latent attention of one layer. Formulas: reference.h.
struct Spec {
  std::uint32_t heads = 0;
  std::uint32_t latent = 0;  // width of the compressed keys and values of a position
  std::uint32_t nope = 0;    // lanes of a query head that meet the latent
  std::uint32_t rope = 0;    // lanes that meet the key shared by all heads; may be 0
  std::uint32_t value = 0;   // width of a value head; may differ from nope + rope
  float scale = 0.0f;        // usually (nope + rope)^-0.5, times the square of yarn's mscale

  bool operator==(const Spec&) const = default;
};

}  // namespace zllm::attention::mla
