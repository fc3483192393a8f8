#pragma once

#include <cstdint>

#include <zllm/encoding/block_format.h>
#include <zllm/encoding/half.h>
#include <zllm/encoding/k_scales.h>

namespace zllm::encoding {

struct [[gnu::packed]] Q5KBlock {
  std::uint16_t d;          // f16
  std::uint16_t dmin;       // f16
  std::uint8_t scales[12];  // unpack_scale_and_min
  std::uint8_t qh[32];      // bit s of byte i: bit 4 of element i of sub-block s
  std::uint8_t qs[128];     // 32 bytes a pair of sub-blocks: low nibbles the first, high the second
};

struct Q5K {
  using Block = Q5KBlock;
  static constexpr Encoding kEncoding = Encoding::q5_k;
  static constexpr std::uint32_t kBlockElements = kSuperBlock;
  [[gnu::always_inline]] static void decode(const Block& block, float *elements) {
    const float d = f16_to_f32(block.d);
    const float dmin = f16_to_f32(block.dmin);
    for (unsigned sub_block = 0; sub_block < 8; ++sub_block) {
      const ScaleAndMin packed = unpack_scale_and_min(block.scales, sub_block);
      const float scale = d * static_cast<float>(packed.scale);
      const float min = dmin * static_cast<float>(packed.min);
      const unsigned shift = sub_block % 2 * 4;
      for (unsigned i = 0; i < 32; ++i) {
        const int low = block.qs[sub_block / 2 * 32 + i] >> shift & 15;
        const int high = block.qh[i] >> sub_block & 1;
        elements[sub_block * 32 + i] = scale * static_cast<float>(low + 16 * high) - min;
      }
    }
  }
};

static_assert(sizeof(Q5KBlock) == 176 && BlockFormat<Q5K>);

}  // namespace zllm::encoding
