#pragma once

#include <array>
#include <cstdint>

#include <zllm/encoding/block_format.h>
#include <zllm/encoding/codebook.h>
#include <zllm/encoding/gen/iq3_s_codes.h>
#include <zllm/encoding/half.h>

namespace zllm::encoding {

inline constexpr std::int8_t kIq3SValues[8] = {1, 3, 5, 7, 9, 11, 13, 15};
inline constexpr std::array<std::uint32_t, 512> kIq3SCodebook =
    unpack_codebook<std::uint32_t, 3>(gen::kIq3SCodes, kIq3SValues);

struct [[gnu::packed]] Iq3SBlock {
  std::uint16_t d;         // f16
  std::uint8_t qs[64];     // per 4 elements: the low byte of the codebook index
  std::uint8_t qh[8];      // per 4 elements: the high bit of the codebook index
  std::uint8_t signs[32];  // per 8 elements: bit j negates element j
  std::uint8_t scales[4];  // a nibble per 32 elements, the low one first
};

struct Iq3S {
  using Block = Iq3SBlock;
  static constexpr Encoding kEncoding = Encoding::iq3_s;
  static constexpr std::uint32_t kBlockElements = kSuperBlock;
  [[gnu::always_inline]] static void decode(const Block& block, float *elements) {
    const float d = f16_to_f32(block.d);
    for (unsigned vector = 0; vector < 64; ++vector) {
      const int nibble = block.scales[vector / 16] >> (vector % 16 / 8 * 4) & 15;
      const float scale = d * static_cast<float>(1 + 2 * nibble);
      const unsigned high = block.qh[vector / 8] >> (vector % 8) & 1u;
      const std::uint32_t entry = kIq3SCodebook[block.qs[vector] | high << 8];
      const std::uint8_t signs = block.signs[vector / 2];
      for (unsigned i = 0; i < 4; ++i) {
        elements[vector * 4 + i] =
            with_sign(scale * codebook_element(entry, i), signs, vector % 2 * 4 + i);
      }
    }
  }
};

static_assert(sizeof(Iq3SBlock) == 110 && BlockFormat<Iq3S>);

}  // namespace zllm::encoding
