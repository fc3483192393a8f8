#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include <zllm/encoding/encoding.h>

namespace zllm::encoding {

static_assert(std::endian::native == std::endian::little, "block fields are little endian");

// A format that a kernel can be templated on: the layout of one block and its reference decode,
// which writes kBlockElements numbers. Blocks are packed, so a row may start at any address.
//
// In every format the products of scales and codes need at most 24 bits and are exact in f32; only
// a final subtraction or addition rounds. So neither fused multiply-add nor another order of the
// factors changes a bit.
template <class Format>
concept BlockFormat =
    std::is_trivially_copyable_v<typename Format::Block> && alignof(typename Format::Block) == 1 &&
    requires(const typename Format::Block& block, float *elements) {
      { Format::kEncoding } -> std::same_as<const Encoding&>;
      { Format::kBlockElements } -> std::same_as<const std::uint32_t&>;
      { Format::decode(block, elements) } -> std::same_as<void>;
    };

// Elements of a block of the formats that came after the 32-element ones.
constexpr std::uint32_t kSuperBlock = 256;

}  // namespace zllm::encoding
