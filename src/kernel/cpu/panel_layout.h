#pragma once

#include <cstdint>

#include <zllm/encoding/encoding.h>

// How a packed matrix lies in memory. Sixteen consecutive rows make a panel, so that a vector lane
// is an output; panels follow each other. A panel is a run of blocks along the columns, each:
//
//   scale    of 16 rows: f16, or one exponent byte
//   minimum  of 16 rows: f16, if the format has it
//   sub-block scales [sub-block][16 rows], then sub-block minima in the same shape, a byte each
//   for every 32 columns: low plane, high plane
//
// A code vector is 64 bytes: 16 rows x 4 consecutive columns; 32 columns have eight of them, g.
// Planes of several code vectors put 8 / bits of them into each byte, the lowest bits first:
//   8 bits: [8], vector g in place g
//   4 bits: [4], place j holds vectors j and j + 4
//   2 bits: [2], place j holds vectors 4j .. 4j + 3
//   1 bit:  [1], holds vectors 0 .. 7
namespace zllm::kernel::cpu {

constexpr std::uint32_t kPanelRows = 16;
constexpr std::uint32_t kCodeVectorBytes = 64;

enum class BlockScale : std::uint8_t { f16, exponent };
enum class SubScales : std::uint8_t { none, with_minima, signed_byte, nibbles_with_minima };
enum class CodeTable : std::uint8_t { none, iq4, mxfp4 };

struct PanelLayout {
  encoding::Encoding encoding;
  std::uint32_t block_columns = 32;
  std::uint32_t low_bits = 4;
  std::uint32_t high_bits = 0;
  // value = code - offset (or table entry); formats with a minimum have none.
  std::int32_t offset = 0;
  BlockScale scale = BlockScale::f16;
  bool has_minimum = false;
  SubScales sub_scales = SubScales::none;
  std::uint32_t columns_per_scale = 32;
  CodeTable table = CodeTable::none;

  // consteval: a shared function must not be emitted by a file with flags of its own.
  consteval std::uint32_t scale_bytes() const {
    return kPanelRows * (scale == BlockScale::f16 ? 2 : 1);
  }
  consteval std::uint32_t sub_scales_offset() const {
    return scale_bytes() + (has_minimum ? 2 * kPanelRows : 0);
  }
  consteval std::uint32_t sub_scale_bytes() const {
    return sub_scales == SubScales::none ? 0 : block_columns / columns_per_scale * kPanelRows;
  }
  consteval std::uint32_t codes_offset() const {
    return sub_scales_offset() + sub_scale_bytes() * (sub_scales == SubScales::with_minima ? 2 : 1);
  }
  consteval std::uint32_t low_bytes() const { return low_bits * kCodeVectorBytes; }
  consteval std::uint32_t codes_bytes() const { return (low_bits + high_bits) * kCodeVectorBytes; }
  consteval std::uint32_t block_bytes() const {
    return codes_offset() + block_columns / 32 * codes_bytes();
  }
};

namespace layout {
using encoding::Encoding;

inline constexpr PanelLayout kQ40 = {.encoding = Encoding::q4_0, .offset = 8};
inline constexpr PanelLayout kQ41 = {.encoding = Encoding::q4_1, .has_minimum = true};
inline constexpr PanelLayout kQ50 = {.encoding = Encoding::q5_0, .high_bits = 1, .offset = 16};
inline constexpr PanelLayout kQ51 = {
    .encoding = Encoding::q5_1, .high_bits = 1, .has_minimum = true};
inline constexpr PanelLayout kQ80 = {.encoding = Encoding::q8_0, .low_bits = 8, .offset = 128};
inline constexpr PanelLayout kIq4Nl = {
    .encoding = Encoding::iq4_nl, .offset = 128, .table = CodeTable::iq4};
inline constexpr PanelLayout kMxfp4 = {.encoding = Encoding::mxfp4,
                                       .offset = 16,
                                       .scale = BlockScale::exponent,
                                       .table = CodeTable::mxfp4};
inline constexpr PanelLayout kQ2K = {.encoding = Encoding::q2_k,
                                     .block_columns = 256,
                                     .low_bits = 2,
                                     .has_minimum = true,
                                     .sub_scales = SubScales::nibbles_with_minima,
                                     .columns_per_scale = 16};
inline constexpr PanelLayout kQ3K = {.encoding = Encoding::q3_k,
                                     .block_columns = 256,
                                     .low_bits = 2,
                                     .high_bits = 1,
                                     .offset = 4,
                                     .sub_scales = SubScales::signed_byte,
                                     .columns_per_scale = 16};
inline constexpr PanelLayout kQ4K = {.encoding = Encoding::q4_k,
                                     .block_columns = 256,
                                     .has_minimum = true,
                                     .sub_scales = SubScales::with_minima};
inline constexpr PanelLayout kQ5K = {.encoding = Encoding::q5_k,
                                     .block_columns = 256,
                                     .high_bits = 1,
                                     .has_minimum = true,
                                     .sub_scales = SubScales::with_minima};
inline constexpr PanelLayout kQ6K = {.encoding = Encoding::q6_k,
                                     .block_columns = 256,
                                     .high_bits = 2,
                                     .offset = 32,
                                     .sub_scales = SubScales::signed_byte,
                                     .columns_per_scale = 16};
inline constexpr PanelLayout kIq4Xs = {.encoding = Encoding::iq4_xs,
                                       .block_columns = 256,
                                       .offset = 128,
                                       .sub_scales = SubScales::signed_byte,
                                       .table = CodeTable::iq4};
}  // namespace layout

template <PanelLayout kLayout, class Visitor>
[[gnu::always_inline]] inline bool visit_if(encoding::Encoding encoding, const Visitor& visitor) {
  if (encoding != kLayout.encoding) {
    return false;
  }
  visitor.template operator()<kLayout>();
  return true;
}

// Calls visitor.operator()<layout>() with the layout of an encoding; false when it is not packed.
template <class Visitor>
[[gnu::always_inline]] inline bool visit_layout(encoding::Encoding encoding,
                                                const Visitor& visitor) {
  return visit_if<layout::kQ40>(encoding, visitor) || visit_if<layout::kQ41>(encoding, visitor) ||
         visit_if<layout::kQ50>(encoding, visitor) || visit_if<layout::kQ51>(encoding, visitor) ||
         visit_if<layout::kQ80>(encoding, visitor) || visit_if<layout::kIq4Nl>(encoding, visitor) ||
         visit_if<layout::kMxfp4>(encoding, visitor) || visit_if<layout::kQ2K>(encoding, visitor) ||
         visit_if<layout::kQ3K>(encoding, visitor) || visit_if<layout::kQ4K>(encoding, visitor) ||
         visit_if<layout::kQ5K>(encoding, visitor) || visit_if<layout::kQ6K>(encoding, visitor) ||
         visit_if<layout::kIq4Xs>(encoding, visitor);
}

}  // namespace zllm::kernel::cpu
