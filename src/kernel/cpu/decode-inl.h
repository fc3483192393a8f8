#pragma once

#include <cstddef>

#include <zllm/encoding/q4_0.h>
#include <zllm/encoding/q4_k.h>
#include <zllm/encoding/q5_k.h>
#include <zllm/encoding/q6_k.h>
#include <zllm/encoding/q8_0.h>

// The reference decode of common formats, compiled for an instruction set. It is exact, so every
// instruction set gives the same elements.
namespace zllm::kernel::cpu {

template <class S, class Format>
void decode_blocks(const std::byte *blocks, std::size_t elements, float *to) {
  using Block = typename Format::Block;
  // Read where it lies: a copy on the stack would be loaded in other widths than it was stored.
  const auto *block = reinterpret_cast<const Block *>(blocks);
  for (std::size_t i = 0; i < elements; i += Format::kBlockElements, ++block) {
    Format::decode(*block, to + i);
  }
}

template <class S>
bool decode_common(encoding::Encoding encoding, const std::byte *blocks, std::size_t elements,
                   float *to) {
  switch (encoding) {
    case encoding::Encoding::q8_0:
      decode_blocks<S, encoding::Q80>(blocks, elements, to);
      return true;
    case encoding::Encoding::q4_0:
      decode_blocks<S, encoding::Q40>(blocks, elements, to);
      return true;
    case encoding::Encoding::q4_k:
      decode_blocks<S, encoding::Q4K>(blocks, elements, to);
      return true;
    case encoding::Encoding::q5_k:
      decode_blocks<S, encoding::Q5K>(blocks, elements, to);
      return true;
    case encoding::Encoding::q6_k:
      decode_blocks<S, encoding::Q6K>(blocks, elements, to);
      return true;
    default:
      return false;
  }
}

}  // namespace zllm::kernel::cpu
