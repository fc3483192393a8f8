#pragma once

#include <cstdint>

#include <zllm/encoding/block_format.h>
#include <zllm/encoding/half.h>
#include <zllm/encoding/iq4_values.h>

namespace zllm::encoding {

struct [[gnu::packed]] Iq4XsBlock {
  std::uint16_t d;           // f16
  std::uint16_t scales_h;    // two high bits of each of the eight scales, offset 32
  std::uint8_t scales_l[4];  // their low nibbles
  std::uint8_t qs[128];  // 16 bytes per 32 elements: low nibbles the first half, high the second
};

struct Iq4Xs {
  using Block = Iq4XsBlock;
  static constexpr Encoding kEncoding = Encoding::iq4_xs;
  static constexpr std::uint32_t kBlockElements = kSuperBlock;
  [[gnu::always_inline]] static void decode(const Block& block, float *elements) {
    const float d = f16_to_f32(block.d);
    for (unsigned group = 0; group < 8; ++group) {
      const int low = block.scales_l[group / 2] >> (group % 2 * 4) & 15;
      const int high = block.scales_h >> (group * 2) & 3;
      const float scale = d * static_cast<float>(low + 16 * high - 32);
      for (unsigned i = 0; i < 16; ++i) {
        const unsigned codes = block.qs[group * 16 + i];
        elements[group * 32 + i] = scale * static_cast<float>(kIq4Values[codes & 15]);
        elements[group * 32 + i + 16] = scale * static_cast<float>(kIq4Values[codes >> 4]);
      }
    }
  }
};

static_assert(sizeof(Iq4XsBlock) == 136 && BlockFormat<Iq4Xs>);

}  // namespace zllm::encoding
