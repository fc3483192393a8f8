#pragma once

#include <cstdint>

#include <zllm/encoding/block_format.h>
#include <zllm/encoding/half.h>

namespace zllm::encoding {

struct [[gnu::packed]] Q50Block {
  std::uint16_t d;      // f16
  std::uint32_t qh;     // bit j is bit 4 of code j
  std::uint8_t qs[16];  // low nibbles are elements 0..15, high ones 16..31
};

struct Q50 {
  using Block = Q50Block;
  static constexpr Encoding kEncoding = Encoding::q5_0;
  static constexpr std::uint32_t kBlockElements = 32;
  [[gnu::always_inline]] static void decode(const Block& block, float *elements) {
    const float d = f16_to_f32(block.d);
    const std::uint32_t high = block.qh;
    for (unsigned i = 0; i < 16; ++i) {
      const unsigned first = (block.qs[i] & 15u) | (high >> i & 1u) << 4;
      const unsigned second = (block.qs[i] >> 4) | (high >> (i + 16) & 1u) << 4;
      elements[i] = d * static_cast<float>(static_cast<int>(first) - 16);
      elements[i + 16] = d * static_cast<float>(static_cast<int>(second) - 16);
    }
  }
};

static_assert(sizeof(Q50Block) == 22 && BlockFormat<Q50>);

}  // namespace zllm::encoding
