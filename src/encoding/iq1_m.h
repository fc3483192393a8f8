#pragma once

#include <cstdint>

#include <zllm/encoding/block_format.h>
#include <zllm/encoding/codebook.h>
#include <zllm/encoding/half.h>
#include <zllm/encoding/iq1_codebook.h>

namespace zllm::encoding {

struct [[gnu::packed]] Iq1MBlock {
  std::uint8_t qs[32];  // per 8 elements: the low byte of the codebook index
  std::uint8_t qh[16];  // a nibble per 8 elements: three high index bits, the shift's sign
  // Three bits per 16 elements, four to a word; the top nibbles are the f16 d, the lowest first.
  std::uint16_t scales[4];
};

struct Iq1M {
  using Block = Iq1MBlock;
  static constexpr Encoding kEncoding = Encoding::iq1_m;
  static constexpr std::uint32_t kBlockElements = kSuperBlock;
  [[gnu::always_inline]] static void decode(const Block& block, float *elements) {
    std::uint16_t half = 0;
    for (unsigned word = 0; word < 4; ++word) {
      const unsigned nibble = block.scales[word] >> 12;
      half = static_cast<std::uint16_t>(half | nibble << (4 * word));
    }
    const float d = f16_to_f32(half);
    for (unsigned vector = 0; vector < 32; ++vector) {
      const int packed = block.scales[vector / 8] >> (vector % 8 / 2 * 3) & 7;
      const float scale = d * static_cast<float>(2 * packed + 1);
      const unsigned rest = block.qh[vector / 2] >> (vector % 2 * 4) & 15u;
      const float shift = (rest & 8) != 0 ? -kIq1Shift : kIq1Shift;
      const std::uint64_t entry = kIq1Codebook[block.qs[vector] | (rest & 7) << 8];
      for (unsigned i = 0; i < 8; ++i) {
        elements[vector * 8 + i] = scale * (codebook_element(entry, i) + shift);
      }
    }
  }
};

static_assert(sizeof(Iq1MBlock) == 56 && BlockFormat<Iq1M>);

}  // namespace zllm::encoding
