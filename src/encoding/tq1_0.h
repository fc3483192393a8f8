#pragma once

#include <cstdint>

#include <zllm/encoding/block_format.h>
#include <zllm/encoding/half.h>

namespace zllm::encoding {

struct [[gnu::packed]] Tq10Block {
  std::uint8_t qs[48];  // five ternary digits a byte: elements 0..159 in 32 bytes, then 160..239
  std::uint8_t qh[4];   // four digits a byte: elements 240..255
  std::uint16_t d;      // f16
};

struct Tq10 {
  using Block = Tq10Block;
  static constexpr Encoding kEncoding = Encoding::tq1_0;
  static constexpr std::uint32_t kBlockElements = kSuperBlock;

  [[gnu::always_inline]] static void decode(const Block& block, float *elements) {
    const float d = f16_to_f32(block.d);
    decode_run(block.qs, 32, 5, d, elements);
    decode_run(block.qs + 32, 16, 5, d, elements + 160);
    decode_run(block.qh, 4, 4, d, elements + 240);
  }

 private:
  // The byte is a fraction of 256 in base three: times three, the next digit moves above the byte.
  [[gnu::always_inline]] static void decode_run(const std::uint8_t *bytes, unsigned count,
                                                unsigned digits, float d, float *elements) {
    unsigned power = 1;
    for (unsigned digit = 0; digit < digits; ++digit) {
      for (unsigned i = 0; i < count; ++i) {
        const unsigned fraction = bytes[i] * power & 255u;
        elements[digit * count + i] =
            d * static_cast<float>(static_cast<int>(fraction * 3 >> 8) - 1);
      }
      power *= 3;
    }
  }
};

static_assert(sizeof(Tq10Block) == 54 && BlockFormat<Tq10>);

}  // namespace zllm::encoding
