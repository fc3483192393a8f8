#pragma once

#include <cstdint>

#include <zllm/encoding/block_format.h>
#include <zllm/encoding/half.h>

namespace zllm::encoding {

struct [[gnu::packed]] Q2KBlock {
  std::uint8_t scales[16];  // per 16 elements: low nibble scale, high nibble minimum
  std::uint8_t qs[64];      // per half of 128: 32 bytes, two bits for each of four runs of 32
  std::uint16_t d;          // f16
  std::uint16_t dmin;       // f16
};

struct Q2K {
  using Block = Q2KBlock;
  static constexpr Encoding kEncoding = Encoding::q2_k;
  static constexpr std::uint32_t kBlockElements = kSuperBlock;
  [[gnu::always_inline]] static void decode(const Block& block, float *elements) {
    const float d = f16_to_f32(block.d);
    const float dmin = f16_to_f32(block.dmin);
    for (unsigned group = 0; group < 16; ++group) {
      const float scale = d * static_cast<float>(block.scales[group] & 15);
      const float min = dmin * static_cast<float>(block.scales[group] >> 4);
      const unsigned first_byte = group / 8 * 32 + group % 2 * 16;
      const unsigned shift = group % 8 / 2 * 2;
      for (unsigned i = 0; i < 16; ++i) {
        const int code = block.qs[first_byte + i] >> shift & 3;
        elements[group * 16 + i] = scale * static_cast<float>(code) - min;
      }
    }
  }
};

static_assert(sizeof(Q2KBlock) == 84 && BlockFormat<Q2K>);

}  // namespace zllm::encoding
