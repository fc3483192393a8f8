#pragma once

#include <cstdint>

namespace zllm::encoding {

// Scale and minimum of one sub-block of 32, six bits each.
struct ScaleAndMin {
  std::uint8_t scale;
  std::uint8_t min;
};

// The packing of Q4_K and Q5_K: eight pairs in 12 bytes. Bytes 0..3 hold the scales and 4..7 the
// minima of the first four sub-blocks in their low six bits; the last four have their low nibbles
// in bytes 8..11 and their two high bits on top of the first eight bytes.
[[gnu::always_inline]] inline ScaleAndMin unpack_scale_and_min(const std::uint8_t (&packed)[12],
                                                               unsigned sub_block) {
  if (sub_block < 4) {
    return {static_cast<std::uint8_t>(packed[sub_block] & 63),
            static_cast<std::uint8_t>(packed[sub_block + 4] & 63)};
  }
  const unsigned low = packed[sub_block + 4];
  const unsigned scale_high = packed[sub_block - 4] >> 6;
  const unsigned min_high = packed[sub_block] >> 6;
  return {static_cast<std::uint8_t>((low & 15) | scale_high << 4),
          static_cast<std::uint8_t>((low >> 4) | min_high << 4)};
}

}  // namespace zllm::encoding
