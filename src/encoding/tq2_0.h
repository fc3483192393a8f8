#pragma once

#include <cstdint>

#include <zllm/encoding/block_format.h>
#include <zllm/encoding/half.h>

namespace zllm::encoding {

struct [[gnu::packed]] Tq20Block {
  std::uint8_t qs[64];  // per half of 128: 32 bytes, two bits for each of four runs of 32
  std::uint16_t d;      // f16
};

struct Tq20 {
  using Block = Tq20Block;
  static constexpr Encoding kEncoding = Encoding::tq2_0;
  static constexpr std::uint32_t kBlockElements = kSuperBlock;
  [[gnu::always_inline]] static void decode(const Block& block, float *elements) {
    const float d = f16_to_f32(block.d);
    for (unsigned run = 0; run < 8; ++run) {
      for (unsigned i = 0; i < 32; ++i) {
        const int code = block.qs[run / 4 * 32 + i] >> (run % 4 * 2) & 3;
        elements[run * 32 + i] = d * static_cast<float>(code - 1);
      }
    }
  }
};

static_assert(sizeof(Tq20Block) == 66 && BlockFormat<Tq20>);

}  // namespace zllm::encoding
