#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include <zllm/kernel/cpu/activation_block.h>

// The tile registers: 0 .. 3 hold products, 4 and 5 activations, 6 and 7 codes.
namespace zllm::kernel::cpu::amx {
namespace {

constexpr std::size_t kTileRows = 16;
constexpr std::size_t kTileRowBytes = 64;
// Activation rows of one step: two tiles, so that a tile of codes is loaded once for both.
constexpr std::size_t kUnitRows = 2 * kTileRows;
constexpr std::size_t kPanels = 2;

// Tiles are shaped while this lives. Released afterwards: a thread whose tiles are in use pays for
// them at every change of context.
class TileShape {
 public:
  // For products over that many columns, at most 32.
  explicit TileShape(std::size_t columns) {
    struct alignas(64) {
      std::uint8_t palette;
      std::uint8_t start_row;
      std::uint8_t reserved[14];
      std::uint16_t row_bytes[16];
      std::uint8_t rows[16];
    } shape = {};
    static_assert(sizeof(shape) == 64);
    shape.palette = 1;
    for (std::size_t tile = 0; tile < 8; ++tile) {
      const bool activations = tile == 4 || tile == 5;
      shape.rows[tile] = static_cast<std::uint8_t>(tile < 6 ? kTileRows : columns / 4);
      shape.row_bytes[tile] = static_cast<std::uint16_t>(activations ? columns : kTileRowBytes);
    }
    _tile_loadconfig(&shape);
  }
  ~TileShape() { _tile_release(); }
  TileShape(const TileShape&) = delete;
  TileShape& operator=(const TileShape&) = delete;
  TileShape(TileShape&&) = delete;
  TileShape& operator=(TileShape&&) = delete;
};

// products[panel][row][16 outputs] = the activations' codes times those of each panel, for 32 rows
// that lie `stride` bytes apart. The caller's stores to `codes` must be made visible first: the
// compiler does not know that a tile load reads memory.
inline void multiply_tiles(const std::int8_t *activations, std::size_t stride,
                           const std::int8_t *codes, std::size_t other_panel,
                           std::int32_t *products) {
  constexpr std::size_t kProductTile = kTileRows * kTileRowBytes / sizeof(std::int32_t);
  _tile_loadd(6, codes, kTileRowBytes);
  _tile_loadd(7, codes + other_panel, kTileRowBytes);
  _tile_loadd(4, activations, stride);
  _tile_zero(0);
  _tile_dpbssd(0, 4, 6);
  _tile_zero(1);
  _tile_dpbssd(1, 4, 7);
  _tile_loadd(5, activations + kTileRows * stride, stride);
  _tile_zero(2);
  _tile_dpbssd(2, 5, 6);
  _tile_zero(3);
  _tile_dpbssd(3, 5, 7);
  _tile_stored(0, products, kTileRowBytes);
  _tile_stored(1, products + 2 * kProductTile, kTileRowBytes);
  _tile_stored(2, products + kProductTile, kTileRowBytes);
  _tile_stored(3, products + 3 * kProductTile, kTileRowBytes);
}

}  // namespace
}  // namespace zllm::kernel::cpu::amx
