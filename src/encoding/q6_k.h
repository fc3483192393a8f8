#pragma once

#include <cstdint>

#include <zllm/encoding/block_format.h>
#include <zllm/encoding/half.h>

namespace zllm::encoding {

struct [[gnu::packed]] Q6KBlock {
  std::uint8_t ql[128];    // per half of 128: 64 bytes, low nibbles elements 0..63, high 64..127
  std::uint8_t qh[64];     // per half: 32 bytes, two bits for each of four runs of 32
  std::int8_t scales[16];  // per 16 elements
  std::uint16_t d;         // f16
};

struct Q6K {
  using Block = Q6KBlock;
  static constexpr Encoding kEncoding = Encoding::q6_k;
  static constexpr std::uint32_t kBlockElements = kSuperBlock;
  [[gnu::always_inline]] static void decode(const Block& block, float *elements) {
    const float d = f16_to_f32(block.d);
    for (unsigned group = 0; group < 16; ++group) {
      const float scale = d * static_cast<float>(block.scales[group]);
      const unsigned half = group / 8;
      const unsigned run = group % 8 / 2;
      const unsigned first_byte = group % 2 * 16;
      for (unsigned i = 0; i < 16; ++i) {
        const unsigned byte = first_byte + i;
        const int low = block.ql[half * 64 + run % 2 * 32 + byte] >> (run / 2 * 4) & 15;
        const int high = block.qh[half * 32 + byte] >> (run * 2) & 3;
        elements[group * 16 + i] = scale * static_cast<float>(low + 16 * high - 32);
      }
    }
  }
};

static_assert(sizeof(Q6KBlock) == 210 && BlockFormat<Q6K>);

}  // namespace zllm::encoding
