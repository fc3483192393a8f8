#pragma once

#include <cstdint>

#include <zllm/encoding/block_format.h>
#include <zllm/encoding/half.h>

// Floating-point elements as blocks of one.
namespace zllm::encoding {

struct [[gnu::packed]] F32Block {
  float value;
};

struct F32 {
  using Block = F32Block;
  static constexpr Encoding kEncoding = Encoding::f32;
  static constexpr std::uint32_t kBlockElements = 1;
  [[gnu::always_inline]] static void decode(const Block& block, float *elements) {
    elements[0] = block.value;
  }
};

struct [[gnu::packed]] F16Block {
  std::uint16_t bits;
};

struct F16 {
  using Block = F16Block;
  static constexpr Encoding kEncoding = Encoding::f16;
  static constexpr std::uint32_t kBlockElements = 1;
  [[gnu::always_inline]] static void decode(const Block& block, float *elements) {
    elements[0] = f16_to_f32(block.bits);
  }
};

struct [[gnu::packed]] Bf16Block {
  std::uint16_t bits;
};

struct Bf16 {
  using Block = Bf16Block;
  static constexpr Encoding kEncoding = Encoding::bf16;
  static constexpr std::uint32_t kBlockElements = 1;
  [[gnu::always_inline]] static void decode(const Block& block, float *elements) {
    elements[0] = bf16_to_f32(block.bits);
  }
};

static_assert(sizeof(F32Block) == 4 && BlockFormat<F32>);
static_assert(sizeof(F16Block) == 2 && BlockFormat<F16>);
static_assert(sizeof(Bf16Block) == 2 && BlockFormat<Bf16>);

}  // namespace zllm::encoding
