#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <zllm/base/strong.h>

namespace zllm::text {

// The bits of a fence's mask.
inline std::size_t mask_words(std::size_t vocabulary) { return (vocabulary + 31) / 32; }

inline bool has_token(std::span<const std::uint32_t> mask, TokenId token) {
  const auto index = static_cast<std::size_t>(token);
  return token >= 0 && index / 32 < mask.size() && ((mask[index / 32] >> (index % 32)) & 1U) != 0;
}

inline void allow_token(std::span<std::uint32_t> mask, TokenId token) {
  const auto index = static_cast<std::size_t>(token);
  mask[index / 32] |= 1U << (index % 32);
}

inline void ban_token(std::span<std::uint32_t> mask, TokenId token) {
  const auto index = static_cast<std::size_t>(token);
  mask[index / 32] &= ~(1U << (index % 32));
}

}  // namespace zllm::text
