#pragma once

#include <cstdint>

#include <zllm/encoding/block_format.h>
#include <zllm/encoding/codebook.h>
#include <zllm/encoding/half.h>
#include <zllm/encoding/iq1_codebook.h>

namespace zllm::encoding {

struct [[gnu::packed]] Iq1SBlock {
  std::uint16_t d;      // f16
  std::uint8_t qs[32];  // per 8 elements: the low byte of the codebook index
  // Per 32 elements: three high bits of each of four indices, a three-bit scale, the shift's sign.
  std::uint16_t qh[8];
};

struct Iq1S {
  using Block = Iq1SBlock;
  static constexpr Encoding kEncoding = Encoding::iq1_s;
  static constexpr std::uint32_t kBlockElements = kSuperBlock;
  [[gnu::always_inline]] static void decode(const Block& block, float *elements) {
    const float d = f16_to_f32(block.d);
    for (unsigned vector = 0; vector < 32; ++vector) {
      const unsigned rest = block.qh[vector / 4];
      const float scale = d * static_cast<float>(2 * (rest >> 12 & 7) + 1);
      const float shift = (rest & 0x8000) != 0 ? -kIq1Shift : kIq1Shift;
      const unsigned high = rest >> (vector % 4 * 3) & 7;
      const std::uint64_t entry = kIq1Codebook[block.qs[vector] | high << 8];
      for (unsigned i = 0; i < 8; ++i) {
        elements[vector * 8 + i] = scale * (codebook_element(entry, i) + shift);
      }
    }
  }
};

static_assert(sizeof(Iq1SBlock) == 50 && BlockFormat<Iq1S>);

}  // namespace zllm::encoding
