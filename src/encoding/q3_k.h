#pragma once

#include <cstdint>

#include <zllm/encoding/block_format.h>
#include <zllm/encoding/half.h>

namespace zllm::encoding {

struct [[gnu::packed]] Q3KBlock {
  std::uint8_t hmask[32];   // bit r of byte i: the high bit of element 32r + i
  std::uint8_t qs[64];      // per half of 128: 32 bytes, two bits for each of four runs of 32
  std::uint8_t scales[12];  // sixteen six-bit scales, offset 32
  std::uint16_t d;          // f16
};

struct Q3K {
  using Block = Q3KBlock;
  static constexpr Encoding kEncoding = Encoding::q3_k;
  static constexpr std::uint32_t kBlockElements = kSuperBlock;
  [[gnu::always_inline]] static void decode(const Block& block, float *elements) {
    const float d = f16_to_f32(block.d);
    for (unsigned group = 0; group < 16; ++group) {
      const unsigned low = block.scales[group % 8] >> (group / 8 * 4) & 15u;
      const unsigned high = block.scales[8 + group % 4] >> (group / 4 * 2) & 3u;
      const float scale = d * static_cast<float>(static_cast<int>(low | high << 4) - 32);
      const unsigned first_byte = group % 2 * 16;
      const unsigned shift = group % 8 / 2 * 2;
      for (unsigned i = 0; i < 16; ++i) {
        const int low_bits = block.qs[group / 8 * 32 + first_byte + i] >> shift & 3;
        const int high_bit = block.hmask[first_byte + i] >> (group / 2) & 1;
        elements[group * 16 + i] = scale * static_cast<float>(low_bits + 4 * high_bit - 4);
      }
    }
  }
};

static_assert(sizeof(Q3KBlock) == 110 && BlockFormat<Q3K>);

}  // namespace zllm::encoding
