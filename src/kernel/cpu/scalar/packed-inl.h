#pragma once

#include <cstring>

#include <zllm/encoding/half.h>
#include <zllm/encoding/iq4_values.h>
#include <zllm/encoding/mxfp4.h>
#include <zllm/kernel/cpu/linear.h>
#include <zllm/kernel/cpu/panel_layout.h>
#include <zllm/kernel/cpu/scalar/output-inl.h>

namespace zllm::kernel::cpu::scalar {
namespace {

constexpr std::size_t kRowsOfPanel = kPanelRows;

inline int byte_at(const std::byte *place) { return std::to_integer<int>(*place); }

// Code of byte `byte` of code vector g, from one plane.
template <std::uint32_t kBits>
inline int plane_code(const std::byte *plane, std::size_t g, std::size_t byte) {
  constexpr std::size_t kPerByte = 8 / kBits;
  const std::size_t place = kBits == 4 ? g % 4 : g / kPerByte;
  const std::size_t index = kBits == 4 ? g / 4 : g % kPerByte;
  const int bits = byte_at(plane + place * kCodeVectorBytes + byte);
  return (bits >> (index * kBits)) & ((1 << kBits) - 1);
}

template <PanelLayout kLayout>
inline int value_at(const std::byte *codes, std::size_t g, std::size_t byte) {
  int code = plane_code<kLayout.low_bits>(codes, g, byte);
  if constexpr (kLayout.high_bits > 0) {
    code |= plane_code<kLayout.high_bits>(codes + kLayout.low_bytes(), g, byte) << kLayout.low_bits;
  }
  if constexpr (kLayout.table == CodeTable::iq4) {
    return encoding::kIq4Values[code];
  } else if constexpr (kLayout.table == CodeTable::mxfp4) {
    return encoding::kMxfp4Values[code];
  } else {
    return code - kLayout.offset;
  }
}

inline float half_of_row(const std::byte *halves, std::size_t row) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, halves + row * 2, sizeof(bits));
  return encoding::f16_to_f32(bits);
}

struct ColumnScale {
  float scale;
  float minimum;
};

template <PanelLayout kLayout>
inline ColumnScale column_scale(const std::byte *block, std::size_t run, std::size_t row) {
  ColumnScale result = {0, 0};
  if constexpr (kLayout.scale == BlockScale::exponent) {
    result.scale = encoding::mxfp4_scale(static_cast<std::uint8_t>(block[row]));
  } else {
    result.scale = half_of_row(block, row);
  }
  if constexpr (kLayout.has_minimum) {
    result.minimum = half_of_row(block + kLayout.scale_bytes(), row);
  }
  const std::byte *sub = block + kLayout.sub_scales_offset() + run * kPanelRows + row;
  if constexpr (kLayout.sub_scales == SubScales::with_minima) {
    result.scale *= static_cast<float>(byte_at(sub));
    result.minimum *= -static_cast<float>(byte_at(sub + kLayout.sub_scale_bytes()));
  } else if constexpr (kLayout.sub_scales == SubScales::signed_byte) {
    result.scale *= static_cast<float>(static_cast<std::int8_t>(*sub));
  } else if constexpr (kLayout.sub_scales == SubScales::nibbles_with_minima) {
    result.scale *= static_cast<float>(byte_at(sub) & 15);
    result.minimum *= -static_cast<float>(byte_at(sub) >> 4);
  }
  return result;
}

// Values of one run of columns that share a scale, [column / 4][row][column % 4].
template <PanelLayout kLayout>
struct Run {
  static constexpr std::size_t kWords = kLayout.columns_per_scale / 4;

  Run(const std::byte *block, const std::byte *codes, std::size_t run) {
    constexpr std::size_t kRunsPerCodes = 32 / kLayout.columns_per_scale;
    const std::size_t first = run % kRunsPerCodes * kWords;
    for (std::size_t g = 0; g < kWords; ++g) {
      for (std::size_t byte = 0; byte < kCodeVectorBytes; ++byte) {
        values[g][byte] = static_cast<std::int16_t>(value_at<kLayout>(codes, first + g, byte));
      }
    }
    for (std::size_t row = 0; row < kRowsOfPanel; ++row) {
      scales[row] = column_scale<kLayout>(block, run, row);
    }
  }

  void multiply_add(const ActivationBlock& activation, std::size_t half, float *sums) const {
    const std::int8_t *inputs = activation.codes + half * 16;
    const float sum = kWords == 8 ? activation.scaled_sum : activation.scaled_half_sums[half];
    for (std::size_t row = 0; row < kRowsOfPanel; ++row) {
      int product = 0;
      for (std::size_t g = 0; g < kWords; ++g) {
        for (std::size_t i = 0; i < 4; ++i) {
          product += values[g][row * 4 + i] * inputs[g * 4 + i];
        }
      }
      sums[row] += static_cast<float>(product) * scales[row].scale * activation.scale;
      if constexpr (kLayout.has_minimum) {
        sums[row] += scales[row].minimum * sum;
      }
    }
  }

  std::int16_t values[kWords][kCodeVectorBytes];
  ColumnScale scales[kRowsOfPanel];
};

constexpr std::size_t kTileRows = 8;  // activation rows for which a run of columns is unpacked once

template <PanelLayout kLayout>
void multiply_tile(const PackedProduct& params, std::uint64_t panel, std::size_t first_row,
                   std::size_t rows) {
  constexpr std::size_t kRuns = kLayout.block_columns / kLayout.columns_per_scale;
  const std::size_t blocks = params.matrix.columns / kLayout.block_columns;
  const std::size_t column_blocks = params.matrix.columns / 32;
  const std::byte *block = params.matrix.panels + panel * blocks * kLayout.block_bytes();
  float sums[kTileRows][kRowsOfPanel] = {};
  for (std::size_t i = 0; i < blocks; ++i, block += kLayout.block_bytes()) {
    for (std::size_t r = 0; r < kRuns; ++r) {
      const std::size_t column = r * kLayout.columns_per_scale;
      const std::byte *codes = block + kLayout.codes_offset() + column / 32 * kLayout.codes_bytes();
      const Run<kLayout> run(block, codes, r);
      for (std::size_t row = 0; row < rows; ++row) {
        const std::size_t index = (i * kLayout.block_columns + column) / 32;
        run.multiply_add(params.activations[(first_row + row) * column_blocks + index],
                         column % 32 / 16, sums[row]);
      }
    }
  }
  const std::uint64_t first = panel * kPanelRows;
  const std::uint64_t left = params.matrix.rows - first;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t lane = 0; lane < (left < kRowsOfPanel ? left : kRowsOfPanel); ++lane) {
      store(params.output, first_row + row, first + lane, sums[row][lane]);
    }
  }
}

template <PanelLayout kLayout>
void multiply(const PackedProduct& params) {
  for (std::size_t row = 0; row < params.activation_rows; row += kTileRows) {
    const std::size_t left = params.activation_rows - row;
    for (std::uint64_t panel = params.first_panel; panel < params.end_panel; ++panel) {
      multiply_tile<kLayout>(params, panel, row, left < kTileRows ? left : kTileRows);
    }
  }
}

void multiply_packed(const PackedProduct& params) {
  visit_layout(params.matrix.encoding,
               [&params]<PanelLayout kLayout>() { multiply<kLayout>(params); });
}

}  // namespace
}  // namespace zllm::kernel::cpu::scalar
