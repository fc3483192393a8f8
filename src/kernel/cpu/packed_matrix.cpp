#include <zllm/kernel/cpu/packed_matrix.h>

#include <algorithm>
#include <cstring>

#include <zllm/base/check.h>
#include <zllm/base/checked.h>
#include <zllm/base/text.h>
#include <zllm/encoding/half.h>
#include <zllm/kernel/cpu/pack_source-inl.h>
#include <zllm/kernel/cpu/panel_layout.h>

namespace zllm::kernel::cpu {
namespace {

using encoding::Encoding;
using encoding::WeightView;

bool is_finite(std::uint16_t half) { return (half & 0x7C00U) != 0x7C00U; }
bool is_finite(std::uint8_t) { return true; }  // an exponent byte has neither NaN nor infinity here

void put_word(std::byte *panel_place, std::uint32_t row, std::uint32_t value) {
  std::memcpy(panel_place + row * 4, &value, sizeof(value));
}

// Spreads eight words of `bits`-bit codes over a plane.
template <std::uint32_t kBitsPerCode>
void put_plane(std::byte *plane, std::uint32_t row, const std::uint32_t (&words)[8]) {
  constexpr std::uint32_t kPerByte = 8 / kBitsPerCode;
  constexpr std::uint32_t kStride = kBitsPerCode == 4 ? 4 : 1;  // between vectors of one place
  for (std::uint32_t place = 0; place < kBitsPerCode; ++place) {
    std::uint32_t value = 0;
    for (std::uint32_t i = 0; i < kPerByte; ++i) {
      const std::uint32_t vector = kStride == 4 ? place + 4 * i : place * kPerByte + i;
      value |= words[vector] << (i * kBitsPerCode);
    }
    put_word(plane + place * kCodeVectorBytes, row, value);
  }
}

template <std::uint32_t kBitsPerCode>
void get_plane(const std::byte *plane, std::uint32_t row, std::uint32_t (&words)[8]) {
  constexpr std::uint32_t kPerByte = 8 / kBitsPerCode;
  constexpr std::uint32_t kMask = (1U << kBitsPerCode) - 1U;
  for (std::uint32_t place = 0; place < kBitsPerCode; ++place) {
    const std::uint32_t value = source::word(plane + place * kCodeVectorBytes + row * 4);
    for (std::uint32_t i = 0; i < kPerByte; ++i) {
      const std::uint32_t vector = kBitsPerCode == 4 ? place + 4 * i : place * kPerByte + i;
      words[vector] = value >> (i * kBitsPerCode) & kMask * 0x01010101U;
    }
  }
}

template <PanelLayout kLayout, class Block>
void put_codes(const Block& block, unsigned sub_block, std::uint32_t row, std::byte *codes) {
  std::uint32_t words[8];
  std::uint32_t high[8];
  constexpr std::uint32_t kLowMask = ((1U << kLayout.low_bits) - 1U) * 0x01010101U;
  for (unsigned g = 0; g < 8; ++g) {
    const std::uint32_t word = source::codes(block, sub_block, g);
    words[g] = word & kLowMask;
    high[g] = (word & ~kLowMask) >> (kLayout.low_bits % 8);
  }
  put_plane<kLayout.low_bits>(codes, row, words);
  if constexpr (kLayout.high_bits > 0) {
    put_plane<kLayout.high_bits>(codes + kLayout.low_bytes(), row, high);
  }
}

// One stored block of one row into its lane of a panel block; false when a scale is not finite.
template <PanelLayout kLayout, class Block>
bool put_block(const Block& block, std::uint32_t row, std::byte *panel_block) {
  const auto scale = source::scale_bits(block);
  const std::uint16_t minimum = source::minimum_bits(block);
  std::memcpy(panel_block + row * sizeof(scale), &scale, sizeof(scale));
  if constexpr (kLayout.has_minimum) {
    std::memcpy(panel_block + kLayout.scale_bytes() + row * 2, &minimum, 2);
  }
  std::byte *sub_scales = panel_block + kLayout.sub_scales_offset();
  for (unsigned i = 0; i < kLayout.sub_scale_bytes() / kPanelRows; ++i) {
    const source::SubScale sub_scale = source::sub_scale(block, i);
    sub_scales[i * kPanelRows + row] = std::byte{sub_scale.scale};
    if constexpr (kLayout.sub_scales == SubScales::with_minima) {
      sub_scales[kLayout.sub_scale_bytes() + i * kPanelRows + row] = std::byte{sub_scale.minimum};
    }
  }
  for (unsigned s = 0; s < kLayout.block_columns / 32; ++s) {
    put_codes<kLayout>(block, s, row,
                       panel_block + kLayout.codes_offset() + s * kLayout.codes_bytes());
  }
  return is_finite(scale) && is_finite(minimum);
}

template <PanelLayout kLayout>
Status pack(const WeightView& weight, std::uint64_t first, std::uint64_t end, std::byte *panels) {
  using Block = typename source::StoredBlock<kLayout.encoding>::type;
  const std::uint64_t blocks = weight.columns / kLayout.block_columns;
  const std::uint64_t first_row = first * kPanelRows;
  const std::uint64_t end_row = std::min(end * kPanelRows, weight.rows);
  if (end * kPanelRows > weight.rows) {
    std::memset(panels + (end - 1) * blocks * kLayout.block_bytes(), 0,
                blocks * kLayout.block_bytes());
  }
  for (std::uint64_t row = first_row; row < end_row; ++row) {
    const std::byte *stored = weight.bytes.data() + row * blocks * sizeof(Block);
    std::byte *panel = panels + row / kPanelRows * blocks * kLayout.block_bytes();
    for (std::uint64_t i = 0; i < blocks; ++i) {
      Block block;
      std::memcpy(&block, stored + i * sizeof(Block), sizeof(Block));
      if (!put_block<kLayout>(block, row % kPanelRows, panel + i * kLayout.block_bytes())) {
        return Error{Code::invalid_file, concat("the scale of the block at row ", row, ", column ",
                                                i * kLayout.block_columns, " is not finite")};
      }
    }
  }
  return {};
}

float half_at(const std::byte *values, std::uint32_t row) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, values + row * 2, 2);
  return encoding::f16_to_f32(bits);
}

// The scale and minimum of a run of columns; value = scale * (code - offset) + minimum.
struct RunScale {
  float scale = 0;
  float minimum = 0;
};

template <PanelLayout kLayout>
RunScale run_scale(const std::byte *panel_block, std::uint32_t row, unsigned run) {
  RunScale result;
  if constexpr (kLayout.scale == BlockScale::exponent) {
    result.scale = encoding::mxfp4_scale(std::to_integer<std::uint8_t>(panel_block[row]));
  } else {
    result.scale = half_at(panel_block, row);
  }
  if constexpr (kLayout.has_minimum) {
    result.minimum = half_at(panel_block + kLayout.scale_bytes(), row);
  }
  const std::byte *bytes = panel_block + kLayout.sub_scales_offset() + run * kPanelRows + row;
  if constexpr (kLayout.sub_scales == SubScales::with_minima) {
    result.scale *= static_cast<float>(std::to_integer<int>(bytes[0]));
    result.minimum *= -static_cast<float>(std::to_integer<int>(bytes[kLayout.sub_scale_bytes()]));
  } else if constexpr (kLayout.sub_scales == SubScales::signed_byte) {
    result.scale *= static_cast<float>(std::to_integer<std::int8_t>(bytes[0]));
  } else if constexpr (kLayout.sub_scales == SubScales::nibbles_with_minima) {
    result.scale *= static_cast<float>(std::to_integer<int>(bytes[0] & std::byte{15}));
    result.minimum *= -static_cast<float>(std::to_integer<int>(bytes[0] >> 4));
  }
  return result;
}

template <PanelLayout kLayout>
int code_value(std::uint32_t code) {
  if constexpr (kLayout.table == CodeTable::iq4) {
    return encoding::kIq4Values[code];
  } else if constexpr (kLayout.table == CodeTable::mxfp4) {
    return encoding::kMxfp4Values[code];
  } else {
    return static_cast<int>(code) - kLayout.offset;
  }
}

template <PanelLayout kLayout>
void unpack_sub_block(const std::byte *panel_block, std::uint32_t row, unsigned s,
                      float *elements) {
  const std::byte *codes = panel_block + kLayout.codes_offset() + s * kLayout.codes_bytes();
  std::uint32_t words[8];
  get_plane<kLayout.low_bits>(codes, row, words);
  if constexpr (kLayout.high_bits > 0) {
    std::uint32_t high[8];
    get_plane<kLayout.high_bits>(codes + kLayout.low_bytes(), row, high);
    for (unsigned g = 0; g < 8; ++g) {
      words[g] |= high[g] << kLayout.low_bits;
    }
  }
  for (unsigned i = 0; i < 32; ++i) {
    const RunScale run =
        run_scale<kLayout>(panel_block, row, (s * 32 + i) / kLayout.columns_per_scale);
    const int value = code_value<kLayout>(words[i / 4] >> (i % 4 * 8) & 255U);
    const float product = run.scale * static_cast<float>(value);
    elements[i] = kLayout.has_minimum ? product + run.minimum : product;
  }
}

template <PanelLayout kLayout>
void unpack(const PackedMatrix& matrix, std::uint64_t row, float *elements) {
  const std::uint64_t blocks = matrix.columns / kLayout.block_columns;
  const std::byte *panel = matrix.panels + row / kPanelRows * blocks * kLayout.block_bytes();
  for (std::uint64_t i = 0; i < blocks; ++i) {
    for (unsigned s = 0; s < kLayout.block_columns / 32; ++s) {
      unpack_sub_block<kLayout>(panel + i * kLayout.block_bytes(), row % kPanelRows, s,
                                elements + i * kLayout.block_columns + s * 32);
    }
  }
}

}  // namespace

bool packable(Encoding encoding) {
  return visit_layout(encoding, []<PanelLayout kLayout>() {});
}

std::uint64_t panel_count(std::uint64_t rows) {
  return rows / kPanelRows + (rows % kPanelRows == 0 ? 0 : 1);
}

std::optional<std::uint64_t> panel_bytes(Encoding encoding, std::uint64_t columns) {
  std::optional<std::uint64_t> bytes;
  visit_layout(encoding, [&]<PanelLayout kLayout>() {
    if (columns % kLayout.block_columns == 0) {
      bytes =
          checked_multiply<std::uint64_t>(columns / kLayout.block_columns, kLayout.block_bytes());
    }
  });
  return bytes;
}

std::optional<std::uint64_t> packed_bytes(Encoding encoding, std::uint64_t rows,
                                          std::uint64_t columns) {
  const auto bytes = panel_bytes(encoding, columns);
  return bytes ? checked_multiply(panel_count(rows), *bytes) : std::nullopt;
}

Status pack_panels(const WeightView& weight, std::uint64_t first, std::uint64_t end,
                   std::byte *panels) {
  Status status;
  const bool known = visit_layout(weight.encoding, [&]<PanelLayout kLayout>() {
    status = pack<kLayout>(weight, first, end, panels);
  });
  ZLLM_CHECK(known, "pack_panels() of an encoding that is not packable");
  return status;
}

void unpack_row(const PackedMatrix& matrix, std::uint64_t row, float *elements) {
  const bool known = visit_layout(
      matrix.encoding, [&]<PanelLayout kLayout>() { unpack<kLayout>(matrix, row, elements); });
  ZLLM_CHECK(known, "unpack_row() of an encoding that is not packable");
}

}  // namespace zllm::kernel::cpu
