#pragma once

#include <cstdint>

#include <zllm/encoding/block_format.h>
#include <zllm/encoding/half.h>

namespace zllm::encoding {

struct [[gnu::packed]] Q80Block {
  std::uint16_t d;  // f16
  std::int8_t qs[32];
};

struct Q80 {
  using Block = Q80Block;
  static constexpr Encoding kEncoding = Encoding::q8_0;
  static constexpr std::uint32_t kBlockElements = 32;
  [[gnu::always_inline]] static void decode(const Block& block, float *elements) {
    const float d = f16_to_f32(block.d);
    for (unsigned i = 0; i < 32; ++i) {
      elements[i] = d * static_cast<float>(block.qs[i]);
    }
  }
};

static_assert(sizeof(Q80Block) == 34 && BlockFormat<Q80>);

}  // namespace zllm::encoding
