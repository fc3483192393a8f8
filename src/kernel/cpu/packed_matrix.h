#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <zllm/base/result.h>
#include <zllm/encoding/encoding.h>

namespace zllm::kernel::cpu {

// A matrix repacked into panels of 16 rows (panel_layout.h). Not owned; 64-byte aligned. Columns
// are whole blocks of the encoding; the last panel is filled up with rows of zeros.
struct PackedMatrix {
  encoding::Encoding encoding = encoding::Encoding::q4_0;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  const std::byte *panels = nullptr;
};

bool packable(encoding::Encoding encoding);

std::uint64_t panel_count(std::uint64_t rows);

// Bytes of one panel, or of the whole matrix; nothing when the encoding is not packable, columns
// are not whole blocks, or the size overflows.
std::optional<std::uint64_t> panel_bytes(encoding::Encoding encoding, std::uint64_t columns);
std::optional<std::uint64_t> packed_bytes(encoding::Encoding encoding, std::uint64_t rows,
                                          std::uint64_t columns);

// Packs panels [first, end) to their place in `panels`, which has packed_bytes(...) bytes; disjoint
// ranges may be packed by several threads at once. Fails when a block scale is NaN or infinite; the
// message names row and column, the caller adds the tensor.
Status pack_panels(const encoding::WeightView& weight, std::uint64_t first, std::uint64_t end,
                   std::byte *panels);

// Exactly the reference decode of one row, elements[columns].
void unpack_row(const PackedMatrix& matrix, std::uint64_t row, float *elements);

}  // namespace zllm::kernel::cpu
