#pragma once

#include <cstdint>

#include <zllm/encoding/block_format.h>
#include <zllm/encoding/half.h>

namespace zllm::encoding {

struct [[gnu::packed]] Q40Block {
  std::uint16_t d;      // f16
  std::uint8_t qs[16];  // low nibbles are elements 0..15, high ones 16..31
};

struct Q40 {
  using Block = Q40Block;
  static constexpr Encoding kEncoding = Encoding::q4_0;
  static constexpr std::uint32_t kBlockElements = 32;
  [[gnu::always_inline]] static void decode(const Block& block, float *elements) {
    const float d = f16_to_f32(block.d);
    for (unsigned i = 0; i < 16; ++i) {
      elements[i] = d * static_cast<float>((block.qs[i] & 15) - 8);
      elements[i + 16] = d * static_cast<float>((block.qs[i] >> 4) - 8);
    }
  }
};

static_assert(sizeof(Q40Block) == 18 && BlockFormat<Q40>);

}  // namespace zllm::encoding
