#pragma once

#include <array>
#include <cstdint>

#include <zllm/encoding/block_format.h>
#include <zllm/encoding/codebook.h>
#include <zllm/encoding/gen/iq3_xxs_codes.h>
#include <zllm/encoding/half.h>

namespace zllm::encoding {

inline constexpr std::int8_t kIq3XxsValues[8] = {4, 12, 20, 28, 36, 44, 52, 62};
inline constexpr std::array<std::uint32_t, 256> kIq3XxsCodebook =
    unpack_codebook<std::uint32_t, 3>(gen::kIq3XxsCodes, kIq3XxsValues);

struct [[gnu::packed]] Iq3XxsBlock {
  std::uint16_t d;      // f16
  std::uint8_t qs[64];  // per 4 elements: codebook index
  // Per 32 elements: four sign indices of seven bits below a four-bit scale.
  std::uint32_t signs_and_scales[8];
};

struct Iq3Xxs {
  using Block = Iq3XxsBlock;
  static constexpr Encoding kEncoding = Encoding::iq3_xxs;
  static constexpr std::uint32_t kBlockElements = kSuperBlock;
  [[gnu::always_inline]] static void decode(const Block& block, float *elements) {
    const float d = f16_to_f32(block.d);
    for (unsigned vector = 0; vector < 64; ++vector) {
      const std::uint32_t rest = block.signs_and_scales[vector / 8];
      const float scale = d * (0.5f + static_cast<float>(rest >> 28)) * 0.5f;
      const std::uint32_t entry = kIq3XxsCodebook[block.qs[vector]];
      const std::uint8_t signs = signs_of_index(rest >> (7 * (vector % 8 / 2)));
      for (unsigned i = 0; i < 4; ++i) {
        elements[vector * 4 + i] =
            with_sign(scale * codebook_element(entry, i), signs, vector % 2 * 4 + i);
      }
    }
  }
};

static_assert(sizeof(Iq3XxsBlock) == 98 && BlockFormat<Iq3Xxs>);

}  // namespace zllm::encoding
