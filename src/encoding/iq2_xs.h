#pragma once

#include <array>
#include <cstdint>

#include <zllm/encoding/block_format.h>
#include <zllm/encoding/codebook.h>
#include <zllm/encoding/gen/iq2_xs_codes.h>
#include <zllm/encoding/half.h>
#include <zllm/encoding/iq2_values.h>

namespace zllm::encoding {

inline constexpr std::array<std::uint64_t, 512> kIq2XsCodebook =
    unpack_codebook<std::uint64_t, 2>(gen::kIq2XsCodes, kIq2Values);

struct [[gnu::packed]] Iq2XsBlock {
  std::uint16_t d;       // f16
  std::uint16_t qs[32];  // per 8 elements: codebook index of nine bits below a sign index of seven
  std::uint8_t scales[8];  // a nibble per 16 elements, the low one first
};

struct Iq2Xs {
  using Block = Iq2XsBlock;
  static constexpr Encoding kEncoding = Encoding::iq2_xs;
  static constexpr std::uint32_t kBlockElements = kSuperBlock;
  [[gnu::always_inline]] static void decode(const Block& block, float *elements) {
    const float d = f16_to_f32(block.d);
    for (unsigned vector = 0; vector < 32; ++vector) {
      const int nibble = block.scales[vector / 4] >> (vector % 4 / 2 * 4) & 15;
      const float scale = d * (0.5f + static_cast<float>(nibble)) * 0.25f;
      const std::uint64_t entry = kIq2XsCodebook[block.qs[vector] & 511];
      const std::uint8_t signs = signs_of_index(block.qs[vector] >> 9);
      for (unsigned i = 0; i < 8; ++i) {
        elements[vector * 8 + i] = with_sign(scale * codebook_element(entry, i), signs, i);
      }
    }
  }
};

static_assert(sizeof(Iq2XsBlock) == 74 && BlockFormat<Iq2Xs>);

}  // namespace zllm::encoding
