#pragma once

#include <cstdint>

#include <zllm/encoding/block_format.h>
#include <zllm/encoding/half.h>
#include <zllm/encoding/iq4_values.h>

namespace zllm::encoding {

struct [[gnu::packed]] Iq4NlBlock {
  std::uint16_t d;      // f16
  std::uint8_t qs[16];  // low nibbles are elements 0..15, high ones 16..31
};

struct Iq4Nl {
  using Block = Iq4NlBlock;
  static constexpr Encoding kEncoding = Encoding::iq4_nl;
  static constexpr std::uint32_t kBlockElements = 32;
  [[gnu::always_inline]] static void decode(const Block& block, float *elements) {
    const float d = f16_to_f32(block.d);
    for (unsigned i = 0; i < 16; ++i) {
      elements[i] = d * static_cast<float>(kIq4Values[block.qs[i] & 15]);
      elements[i + 16] = d * static_cast<float>(kIq4Values[block.qs[i] >> 4]);
    }
  }
};

static_assert(sizeof(Iq4NlBlock) == 18 && BlockFormat<Iq4Nl>);

}  // namespace zllm::encoding
