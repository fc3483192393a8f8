#pragma once

#include <array>
#include <cstdint>

#include <zllm/encoding/block_format.h>
#include <zllm/encoding/codebook.h>
#include <zllm/encoding/gen/iq2_xxs_codes.h>
#include <zllm/encoding/half.h>
#include <zllm/encoding/iq2_values.h>

namespace zllm::encoding {

inline constexpr std::array<std::uint64_t, 256> kIq2XxsCodebook =
    unpack_codebook<std::uint64_t, 2>(gen::kIq2XxsCodes, kIq2Values);

struct [[gnu::packed]] Iq2XxsBlock {
  std::uint16_t d;  // f16
  // Per 32 elements two words of 32 bits: four codebook indices, then four sign indices of seven
  // bits below a four-bit scale.
  std::uint32_t qs[16];
};

struct Iq2Xxs {
  using Block = Iq2XxsBlock;
  static constexpr Encoding kEncoding = Encoding::iq2_xxs;
  static constexpr std::uint32_t kBlockElements = kSuperBlock;
  [[gnu::always_inline]] static void decode(const Block& block, float *elements) {
    const float d = f16_to_f32(block.d);
    for (unsigned group = 0; group < 8; ++group) {
      const std::uint32_t indices = block.qs[2 * group];
      const std::uint32_t rest = block.qs[2 * group + 1];
      const float scale = d * (0.5f + static_cast<float>(rest >> 28)) * 0.25f;
      for (unsigned vector = 0; vector < 4; ++vector) {
        const std::uint64_t entry = kIq2XxsCodebook[indices >> (8 * vector) & 255];
        const std::uint8_t signs = signs_of_index(rest >> (7 * vector));
        for (unsigned i = 0; i < 8; ++i) {
          elements[group * 32 + vector * 8 + i] =
              with_sign(scale * codebook_element(entry, i), signs, i);
        }
      }
    }
  }
};

static_assert(sizeof(Iq2XxsBlock) == 66 && BlockFormat<Iq2Xxs>);

}  // namespace zllm::encoding
