#pragma once

#include <bit>
#include <cstdint>

#include <zllm/encoding/block_format.h>

namespace zllm::encoding {

// Twice the E2M1 number of each code, an integer; minus zero is zero.
inline constexpr std::int8_t kMxfp4Values[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                                 0, -1, -2, -3, -4, -6, -8, -12};

// 2^(e - 128), half of what E8M0 says because the values are doubled. GGUF has no NaN here: 255 is
// 2^127.
[[gnu::always_inline]] constexpr float mxfp4_scale(std::uint8_t e) {
  const std::uint32_t subnormal = std::uint32_t{0x00200000} << (e & 1u);
  return std::bit_cast<float>(e < 2 ? subnormal : (e - 1u) << 23);
}

struct [[gnu::packed]] Mxfp4Block {
  std::uint8_t e;       // exponent of the scale, see mxfp4_scale
  std::uint8_t qs[16];  // low nibbles are elements 0..15, high ones 16..31
};

struct Mxfp4 {
  using Block = Mxfp4Block;
  static constexpr Encoding kEncoding = Encoding::mxfp4;
  static constexpr std::uint32_t kBlockElements = 32;
  [[gnu::always_inline]] static void decode(const Block& block, float *elements) {
    const float scale = mxfp4_scale(block.e);
    for (unsigned i = 0; i < 16; ++i) {
      elements[i] = scale * static_cast<float>(kMxfp4Values[block.qs[i] & 15]);
      elements[i + 16] = scale * static_cast<float>(kMxfp4Values[block.qs[i] >> 4]);
    }
  }
};

static_assert(sizeof(Mxfp4Block) == 17 && BlockFormat<Mxfp4>);

}  // namespace zllm::encoding
