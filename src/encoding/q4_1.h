#pragma once

#include <cstdint>

#include <zllm/encoding/block_format.h>
#include <zllm/encoding/half.h>

namespace zllm::encoding {

struct [[gnu::packed]] Q41Block {
  std::uint16_t d;      // f16
  std::uint16_t m;      // f16, the value of code 0
  std::uint8_t qs[16];  // low nibbles are elements 0..15, high ones 16..31
};

struct Q41 {
  using Block = Q41Block;
  static constexpr Encoding kEncoding = Encoding::q4_1;
  static constexpr std::uint32_t kBlockElements = 32;
  [[gnu::always_inline]] static void decode(const Block& block, float *elements) {
    const float d = f16_to_f32(block.d);
    const float m = f16_to_f32(block.m);
    for (unsigned i = 0; i < 16; ++i) {
      elements[i] = d * static_cast<float>(block.qs[i] & 15) + m;
      elements[i + 16] = d * static_cast<float>(block.qs[i] >> 4) + m;
    }
  }
};

static_assert(sizeof(Q41Block) == 20 && BlockFormat<Q41>);

}  // namespace zllm::encoding
