#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <zllm/encoding/encoding.h>
#include <zllm/kernel/cpu/packed_matrix.h>

namespace zllm::backend::cpu {

// A resident matrix as products read it: packed panels, or the bytes of a file. Not owned.
struct MatrixView {
  bool is_packed = false;
  encoding::Encoding encoding = encoding::Encoding::f32;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  const std::byte *bytes = nullptr;

  // Used as it is, element by element.
  bool is_plain() const {
    using enum encoding::Encoding;
    return !is_packed && (encoding == f32 || encoding == f16 || encoding == bf16);
  }
  // Decoded to f32 a few rows at a time.
  bool needs_decoding() const { return !is_packed && !is_plain(); }

  kernel::cpu::PackedMatrix panels() const {  // packed
    return {.encoding = encoding, .rows = rows, .columns = columns, .panels = bytes};
  }
  encoding::WeightView view() const {  // not packed
    return {.encoding = encoding,
            .rows = rows,
            .columns = columns,
            .bytes = {bytes, rows * *encoding::row_bytes(encoding, columns)},
            .name = {}};
  }
  // Rows [first, end) or up to the last; first is a multiple of a panel's 16 rows.
  MatrixView slice(std::uint64_t first, std::uint64_t end) const {
    const std::uint64_t skipped =
        is_packed ? kernel::cpu::panel_count(first) * *kernel::cpu::panel_bytes(encoding, columns)
                  : first * *encoding::row_bytes(encoding, columns);
    return {.is_packed = is_packed,
            .encoding = encoding,
            .rows = std::min(end, rows) - first,
            .columns = columns,
            .bytes = bytes + skipped};
  }
};

}  // namespace zllm::backend::cpu
