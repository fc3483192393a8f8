#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <zllm/encoding/iq4_nl.h>
#include <zllm/encoding/iq4_xs.h>
#include <zllm/encoding/k_scales.h>
#include <zllm/encoding/mxfp4.h>
#include <zllm/encoding/q2_k.h>
#include <zllm/encoding/q3_k.h>
#include <zllm/encoding/q4_0.h>
#include <zllm/encoding/q4_1.h>
#include <zllm/encoding/q4_k.h>
#include <zllm/encoding/q5_0.h>
#include <zllm/encoding/q5_1.h>
#include <zllm/encoding/q5_k.h>
#include <zllm/encoding/q6_k.h>
#include <zllm/encoding/q8_0.h>

// Reads the fields of a stored block in the terms of panel_layout.h. Codes come as words of four
// consecutive columns, word g of sub-block s.
namespace zllm::kernel::cpu::source {

constexpr std::uint32_t kNibbles = 0x0F0F0F0F;
constexpr std::uint32_t kPairs = 0x03030303;
constexpr std::uint32_t kBits = 0x01010101;

inline std::uint32_t word(const void *bytes) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

// Codes 0..15 are the low nibbles of 16 bytes and codes 16..31 the high ones.
inline std::uint32_t split_nibbles(const std::uint8_t *qs, unsigned g) {
  return (word(qs + g % 4 * 4) >> (g / 4 * 4)) & kNibbles;
}

// Bits 4g .. 4g + 3 as bit 4 of four bytes.
inline std::uint32_t fifth_bits(std::uint32_t bits, unsigned g) {
  return ((bits >> (4 * g) & 15U) * 0x00204081U & kBits) << 4;
}

// Sub-blocks are nibbles of runs of 32 bytes, low ones first.
inline std::uint32_t run_nibbles(const std::uint8_t *qs, unsigned s, unsigned g) {
  return (word(qs + s / 2 * 32 + g * 4) >> (s % 2 * 4)) & kNibbles;
}

// Two bits for each of four sub-blocks in runs of 32 bytes.
inline std::uint32_t run_pairs(const std::uint8_t *qs, unsigned s, unsigned g) {
  return (word(qs + s / 4 * 32 + g * 4) >> (s % 4 * 2)) & kPairs;
}

using encoding::Encoding;
using encoding::Iq4NlBlock;
using encoding::Iq4XsBlock;
using encoding::Mxfp4Block;
using encoding::Q2KBlock;
using encoding::Q3KBlock;
using encoding::Q40Block;
using encoding::Q41Block;
using encoding::Q4KBlock;
using encoding::Q50Block;
using encoding::Q51Block;
using encoding::Q5KBlock;
using encoding::Q6KBlock;
using encoding::Q80Block;

inline std::uint32_t codes(const Q40Block& block, unsigned, unsigned g) {
  return split_nibbles(block.qs, g);
}
inline std::uint32_t codes(const Q41Block& block, unsigned, unsigned g) {
  return split_nibbles(block.qs, g);
}
inline std::uint32_t codes(const Q50Block& block, unsigned, unsigned g) {
  return split_nibbles(block.qs, g) | fifth_bits(block.qh, g);
}
inline std::uint32_t codes(const Q51Block& block, unsigned, unsigned g) {
  return split_nibbles(block.qs, g) | fifth_bits(block.qh, g);
}
inline std::uint32_t codes(const Q80Block& block, unsigned, unsigned g) {
  return word(block.qs + g * 4) ^ 0x80808080U;
}
inline std::uint32_t codes(const Iq4NlBlock& block, unsigned, unsigned g) {
  return split_nibbles(block.qs, g);
}
inline std::uint32_t codes(const Mxfp4Block& block, unsigned, unsigned g) {
  return split_nibbles(block.qs, g);
}
inline std::uint32_t codes(const Q2KBlock& block, unsigned s, unsigned g) {
  return run_pairs(block.qs, s, g);
}
inline std::uint32_t codes(const Q3KBlock& block, unsigned s, unsigned g) {
  const std::uint32_t high = (word(block.hmask + g * 4) >> s) & kBits;
  return run_pairs(block.qs, s, g) | high << 2;
}
inline std::uint32_t codes(const Q4KBlock& block, unsigned s, unsigned g) {
  return run_nibbles(block.qs, s, g);
}
inline std::uint32_t codes(const Q5KBlock& block, unsigned s, unsigned g) {
  const std::uint32_t high = (word(block.qh + g * 4) >> s) & kBits;
  return run_nibbles(block.qs, s, g) | high << 4;
}
inline std::uint32_t codes(const Q6KBlock& block, unsigned s, unsigned g) {
  const unsigned run = s % 4;
  const std::uint8_t *low = block.ql + s / 4 * 64 + run % 2 * 32 + g * 4;
  return ((word(low) >> (run / 2 * 4)) & kNibbles) | run_pairs(block.qh, s, g) << 4;
}
inline std::uint32_t codes(const Iq4XsBlock& block, unsigned s, unsigned g) {
  return split_nibbles(block.qs + s * 16, g);
}

template <class Block>
std::uint16_t scale_bits(const Block& block) {
  return block.d;
}
inline std::uint8_t scale_bits(const Mxfp4Block& block) { return block.e; }

template <class Block>
std::uint16_t minimum_bits(const Block& block) {
  if constexpr (requires { block.dmin; }) {
    return block.dmin;
  } else if constexpr (requires { block.m; }) {
    return block.m;
  } else {
    return 0;
  }
}

// The byte of sub-block scale i as the panel stores it, and of its minimum.
struct SubScale {
  std::uint8_t scale = 0;
  std::uint8_t minimum = 0;
};

template <class Block>
SubScale sub_scale(const Block&, unsigned) {
  return {};
}
inline SubScale sub_scale(const Q2KBlock& block, unsigned i) { return {block.scales[i], 0}; }
inline SubScale sub_scale(const Q3KBlock& block, unsigned i) {
  const unsigned low = block.scales[i % 8] >> (i / 8 * 4) & 15U;
  const unsigned high = block.scales[8 + i % 4] >> (i / 4 * 2) & 3U;
  return {static_cast<std::uint8_t>((low | high << 4) - 32U), 0};
}
inline SubScale sub_scale(const Q4KBlock& block, unsigned i) {
  const encoding::ScaleAndMin packed = encoding::unpack_scale_and_min(block.scales, i);
  return {packed.scale, packed.min};
}
inline SubScale sub_scale(const Q5KBlock& block, unsigned i) {
  const encoding::ScaleAndMin packed = encoding::unpack_scale_and_min(block.scales, i);
  return {packed.scale, packed.min};
}
inline SubScale sub_scale(const Q6KBlock& block, unsigned i) {
  return {static_cast<std::uint8_t>(block.scales[i]), 0};
}
inline SubScale sub_scale(const Iq4XsBlock& block, unsigned i) {
  const unsigned low = block.scales_l[i / 2] >> (i % 2 * 4) & 15U;
  const unsigned high = static_cast<unsigned>(block.scales_h) >> (i * 2) & 3U;
  return {static_cast<std::uint8_t>((low | high << 4) - 32U), 0};
}

// The stored block of a packed encoding.
template <Encoding kEncoding>
struct StoredBlock;
template <>
struct StoredBlock<Encoding::q4_0> : std::type_identity<Q40Block> {};
template <>
struct StoredBlock<Encoding::q4_1> : std::type_identity<Q41Block> {};
template <>
struct StoredBlock<Encoding::q5_0> : std::type_identity<Q50Block> {};
template <>
struct StoredBlock<Encoding::q5_1> : std::type_identity<Q51Block> {};
template <>
struct StoredBlock<Encoding::q8_0> : std::type_identity<Q80Block> {};
template <>
struct StoredBlock<Encoding::iq4_nl> : std::type_identity<Iq4NlBlock> {};
template <>
struct StoredBlock<Encoding::mxfp4> : std::type_identity<Mxfp4Block> {};
template <>
struct StoredBlock<Encoding::q2_k> : std::type_identity<Q2KBlock> {};
template <>
struct StoredBlock<Encoding::q3_k> : std::type_identity<Q3KBlock> {};
template <>
struct StoredBlock<Encoding::q4_k> : std::type_identity<Q4KBlock> {};
template <>
struct StoredBlock<Encoding::q5_k> : std::type_identity<Q5KBlock> {};
template <>
struct StoredBlock<Encoding::q6_k> : std::type_identity<Q6KBlock> {};
template <>
struct StoredBlock<Encoding::iq4_xs> : std::type_identity<Iq4XsBlock> {};

}  // namespace zllm::kernel::cpu::source
