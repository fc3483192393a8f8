#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include <zllm/kernel/cpu/amx/tile-inl.h>
#include <zllm/kernel/cpu/avx512/linear.h>
#include <zllm/kernel/cpu/avx512/output-inl.h>
#include <zllm/kernel/cpu/avx512/unpack-inl.h>
#include <zllm/kernel/cpu/linear.h>

// Products of many activation rows in tiles. Every value has the bits of the AVX-512 kernel: the
// integer products of a block are exact in both, and the operations on a sum are the same. (Where
// that kernel starts at kFloatBaseBits and takes the base out by a fused operation, this one
// converts and multiplies: the same product rounded once.)
namespace zllm::kernel::cpu::amx {
namespace {

// Products of column runs whose results wait for the vector unit together: the sums stay in
// registers for so long.
constexpr std::size_t kProducts = 4;

// Units of activation rows for which column blocks are unpacked once.
constexpr std::size_t kTileUnits = 2;

// Activation rows that stay in the second-level cache while the panels pass by.
constexpr std::size_t kCachedActivationBytes = 768 * 1024;

// A last unit that is not full repeats rows of the one before; below so many new rows the AVX-512
// kernel is faster.
constexpr std::size_t kFewestRows = 12;

// Consecutive column blocks of two panels: codes as a tile wants them, scales as vectors.
template <PanelLayout kLayout>
struct Columns {
  static constexpr std::size_t kRuns = 32 / kLayout.columns_per_scale;
  static constexpr std::size_t kBlocks = kProducts / kRuns;
  static constexpr std::size_t kCodeBytes = 8 * kCodeVectorBytes;

  // Blocks past the last one repeat it with scales of zero, which leaves sums as they are.
  void unpack(const std::byte *panel, std::size_t panel_bytes, std::size_t first,
              std::size_t blocks) {
    constexpr std::size_t kSubBlocks = kLayout.block_columns / 32;
    for (std::size_t b = 0; b < kBlocks; ++b) {
      const bool present = first + b < blocks;
      const std::size_t index = present ? first + b : blocks - 1;
      place[b] = index;
      for (std::size_t i = 0; i < kPanels; ++i) {
        const std::byte *block =
            panel + i * panel_bytes + index / kSubBlocks * kLayout.block_bytes();
        unpack_block(block, index % kSubBlocks, present, b, i);
      }
    }
  }

  void unpack_block(const std::byte *block, std::size_t sub_block, bool present, std::size_t b,
                    std::size_t panel) {
    __m512i vectors[8];
    avx512::unpack_codes<kLayout>(
        block + kLayout.codes_offset() + sub_block * kLayout.codes_bytes(), vectors);
    const __m512i offset = _mm512_set1_epi8(static_cast<char>(kLayout.offset));
    for (std::size_t g = 0; g < 8; ++g) {
      _mm512_store_si512(codes[b][panel] + g * kCodeVectorBytes,
                         _mm512_sub_epi8(vectors[g], offset));
    }
    const avx512::Scales<kLayout> scales(block);
    const auto kept = static_cast<__mmask16>(present ? 0xFFFF : 0);
    for (std::size_t run = 0; run < kRuns; ++run) {
      const std::size_t from = sub_block * kRuns + run;
      scale[b * kRuns + run][panel] = _mm512_maskz_mov_ps(kept, scales.run_scale(from));
      if constexpr (kLayout.has_minimum) {
        minimum[b * kRuns + run][panel] = _mm512_maskz_mov_ps(kept, scales.run_minimum(from));
      }
    }
  }

  alignas(64) std::int8_t codes[kBlocks][kPanels][kCodeBytes];
  __m512 scale[kProducts][kPanels];
  __m512 minimum[kProducts][kPanels];
  std::size_t place[kBlocks];
};

// Column blocks of one unit of activation rows.
template <PanelLayout kLayout>
struct Step {
  const Columns<kLayout> *columns;
  const ActivationBlock *activations;  // of the unit's first row
  std::int32_t *products;              // [kProducts][kPanels][kUnitRows][16]
  float *sums;                         // [kUnitRows][kPanels][16]
  std::size_t row;
  std::size_t first_stored;  // rows of the unit before this one belong to another
  bool first;
  bool last;
};

constexpr std::size_t kProductSize = kPanels * kUnitRows * kPanelRows;

template <PanelLayout kLayout>
struct Workspace {
  Columns<kLayout> columns[2];
  alignas(64) std::int32_t products[2][kProducts * kProductSize];
  alignas(64) float sums[kTileUnits][kUnitRows * kPanels * kPanelRows];
};

template <PanelLayout kLayout>
[[gnu::always_inline]] inline void start_product(const Step<kLayout>& step, std::size_t stride,
                                                 std::size_t product) {
  constexpr std::size_t kRuns = Columns<kLayout>::kRuns;
  const std::size_t block = product / kRuns;
  const std::size_t run = product % kRuns;
  const Columns<kLayout>& columns = *step.columns;
  multiply_tiles(step.activations[columns.place[block]].codes + run * (32 / kRuns),
                 stride * sizeof(ActivationBlock),
                 columns.codes[block][0] + run * (8 / kRuns) * kCodeVectorBytes,
                 Columns<kLayout>::kCodeBytes, step.products + product * kProductSize);
}

// Adds the products of rows [begin, end) to their sums, in the order of the AVX-512 kernel.
template <PanelLayout kLayout>
[[gnu::always_inline]] inline void finish_rows(const PackedProduct& params, std::uint64_t panel,
                                               const Step<kLayout>& step, std::size_t begin,
                                               std::size_t end) {
  constexpr std::size_t kRuns = Columns<kLayout>::kRuns;
  const std::size_t stride = params.matrix.columns / 32;
  const Columns<kLayout>& columns = *step.columns;
  const auto kept = static_cast<__mmask16>(step.first ? 0 : 0xFFFF);
  for (std::size_t row = begin; row < end; ++row) {
    float *place = step.sums + row * kPanels * kPanelRows;
    __m512 sums[kPanels] = {_mm512_maskz_load_ps(kept, place),
                            _mm512_maskz_load_ps(kept, place + kPanelRows)};
    for (std::size_t b = 0; b < Columns<kLayout>::kBlocks; ++b) {
      const ActivationBlock& activation = step.activations[row * stride + columns.place[b]];
      for (std::size_t i = 0; i < kPanels; ++i) {
        __m512 scaled[kRuns];
        for (std::size_t run = 0; run < kRuns; ++run) {
          const std::size_t product = b * kRuns + run;
          const std::int32_t *integers =
              step.products + product * kProductSize + (i * kUnitRows + row) * kPanelRows;
          scaled[run] = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_load_si512(integers)),
                                      columns.scale[product][i]);
        }
        if constexpr (kRuns == 2) {
          scaled[0] = _mm512_add_ps(scaled[0], scaled[1]);
        }
        sums[i] = _mm512_fmadd_ps(scaled[0], _mm512_set1_ps(activation.scale), sums[i]);
        if constexpr (kLayout.has_minimum && kRuns == 1) {
          sums[i] = _mm512_fmadd_ps(columns.minimum[b][i], _mm512_set1_ps(activation.scaled_sum),
                                    sums[i]);
        } else if constexpr (kLayout.has_minimum) {
          for (std::size_t half = 0; half < 2; ++half) {
            sums[i] = _mm512_fmadd_ps(columns.minimum[b * kRuns + half][i],
                                      _mm512_set1_ps(activation.scaled_half_sums[half]), sums[i]);
          }
        }
      }
    }
    if (!step.last) {
      _mm512_store_ps(place, sums[0]);
      _mm512_store_ps(place + kPanelRows, sums[1]);
    } else if (row >= step.first_stored) {
      for (std::size_t i = 0; i < kPanels; ++i) {
        const std::uint64_t output = (panel + i) * kPanelRows;
        avx512::store(params.output, step.row + row, output,
                      avx512::lanes(params.matrix.rows - output), sums[i]);
      }
    }
  }
}

// Two panels times units [first_unit, end_unit) of the activation rows [0, rows). The tiles of a
// step run beside the vector operations of the step before.
template <PanelLayout kLayout>
[[gnu::noinline]] void multiply_units(const PackedProduct& params, std::uint64_t panel,
                                      std::size_t rows, std::size_t first_unit,
                                      std::size_t end_unit) {
  constexpr std::size_t kBlocks = Columns<kLayout>::kBlocks;
  constexpr std::size_t kRowsAProduct = kUnitRows / kProducts;
  const std::size_t blocks = params.matrix.columns / 32;
  const std::size_t panel_bytes =
      params.matrix.columns / kLayout.block_columns * kLayout.block_bytes();
  Workspace<kLayout> workspace;
  Step<kLayout> previous = {};
  std::size_t steps = 0;
  for (std::size_t block = 0, pass = 0; block < blocks; block += kBlocks, ++pass) {
    Columns<kLayout>& columns = workspace.columns[pass % 2];
    columns.unpack(params.matrix.panels + panel * panel_bytes, panel_bytes, block, blocks);
    __asm__ volatile("" ::: "memory");
    for (std::size_t unit = first_unit; unit < end_unit; ++unit, ++steps) {
      const std::size_t wanted = unit * kUnitRows;
      const std::size_t row = wanted + kUnitRows <= rows ? wanted : rows - kUnitRows;
      const Step<kLayout> step = {.columns = &columns,
                                  .activations = params.activations + row * blocks,
                                  .products = workspace.products[steps % 2],
                                  .sums = workspace.sums[unit - first_unit],
                                  .row = row,
                                  .first_stored = wanted - row,
                                  .first = block == 0,
                                  .last = block + kBlocks >= blocks};
      for (std::size_t i = 0; i < kProducts; ++i) {
        start_product(step, blocks, i);
        if (steps > 0) {
          finish_rows(params, panel, previous, i * kRowsAProduct, (i + 1) * kRowsAProduct);
        }
      }
      previous = step;
    }
  }
  finish_rows(params, panel, previous, 0, kUnitRows);
}

// An even number of panels times whole units of activation rows.
template <PanelLayout kLayout>
void multiply_units_of_panels(const PackedProduct& params, std::size_t rows) {
  const TileShape shape(kLayout.columns_per_scale);
  const std::size_t units = (rows + kUnitRows - 1) / kUnitRows;
  const std::size_t unit_bytes = params.matrix.columns / 32 * sizeof(ActivationBlock) * kUnitRows;
  const std::size_t fitting = kCachedActivationBytes / unit_bytes / kTileUnits * kTileUnits;
  const std::size_t chunk = fitting < kTileUnits ? kTileUnits : fitting;
  for (std::size_t first = 0; first < units; first += chunk) {
    const std::size_t end = units - first < chunk ? units : first + chunk;
    for (std::uint64_t panel = params.first_panel; panel < params.end_panel; panel += kPanels) {
      for (std::size_t unit = first; unit < end; unit += kTileUnits) {
        multiply_units<kLayout>(params, panel, rows, unit,
                                end - unit < kTileUnits ? end : unit + kTileUnits);
      }
    }
  }
}

void multiply_packed(const PackedProduct& params) {
  const auto multiply_vectors = avx512::linear_kernels().multiply_packed;
  const std::size_t beyond = params.activation_rows % kUnitRows;
  const std::size_t rows =
      params.activation_rows - (beyond < kFewestRows ? beyond : std::size_t{0});
  if (rows < kUnitRows || params.end_panel - params.first_panel < kPanels) {
    return multiply_vectors(params);
  }
  PackedProduct part = params;
  part.end_panel -= (params.end_panel - params.first_panel) % kPanels;
  visit_layout(params.matrix.encoding,
               [&]<PanelLayout kLayout>() { multiply_units_of_panels<kLayout>(part, rows); });
  if (rows < params.activation_rows) {
    PackedProduct left = part;
    left.activations += rows * (params.matrix.columns / 32);
    left.activation_rows -= rows;
    left.output.values += rows * params.output.stride;
    multiply_vectors(left);
  }
  if (part.end_panel < params.end_panel) {
    part.first_panel = part.end_panel;
    part.end_panel = params.end_panel;
    multiply_vectors(part);
  }
}

}  // namespace
}  // namespace zllm::kernel::cpu::amx
