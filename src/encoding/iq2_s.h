#pragma once

#include <array>
#include <cstdint>

#include <zllm/encoding/block_format.h>
#include <zllm/encoding/codebook.h>
#include <zllm/encoding/gen/iq2_s_codes.h>
#include <zllm/encoding/half.h>
#include <zllm/encoding/iq2_values.h>

namespace zllm::encoding {

inline constexpr std::array<std::uint64_t, 1024> kIq2SCodebook =
    unpack_codebook<std::uint64_t, 2>(gen::kIq2SCodes, kIq2Values);

struct [[gnu::packed]] Iq2SBlock {
  std::uint16_t d;         // f16
  std::uint8_t qs[32];     // per 8 elements: the low byte of the codebook index
  std::uint8_t signs[32];  // per 8 elements: bit j negates element j
  std::uint8_t qh[8];      // per 8 elements: two high bits of the codebook index
  std::uint8_t scales[8];  // a nibble per 16 elements, the low one first
};

struct Iq2S {
  using Block = Iq2SBlock;
  static constexpr Encoding kEncoding = Encoding::iq2_s;
  static constexpr std::uint32_t kBlockElements = kSuperBlock;
  [[gnu::always_inline]] static void decode(const Block& block, float *elements) {
    const float d = f16_to_f32(block.d);
    for (unsigned vector = 0; vector < 32; ++vector) {
      const int nibble = block.scales[vector / 4] >> (vector % 4 / 2 * 4) & 15;
      const float scale = d * (0.5f + static_cast<float>(nibble)) * 0.25f;
      const unsigned high = block.qh[vector / 4] >> (vector % 4 * 2) & 3u;
      const std::uint64_t entry = kIq2SCodebook[block.qs[vector] | high << 8];
      for (unsigned i = 0; i < 8; ++i) {
        elements[vector * 8 + i] =
            with_sign(scale * codebook_element(entry, i), block.signs[vector], i);
      }
    }
  }
};

static_assert(sizeof(Iq2SBlock) == 82 && BlockFormat<Iq2S>);

}  // namespace zllm::encoding
