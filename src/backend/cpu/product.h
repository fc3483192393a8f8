#pragma once

#include <cstddef>
#include <cstdint>

#include <zllm/backend/cpu/matrix_view.h>
#include <zllm/kernel/cpu/activation_block.h>
#include <zllm/kernel/cpu/linear.h>

namespace zllm::backend::cpu {

// Matrix rows of one piece of work: two panels of the packed form, which share what a product
// reads; also a block of the next product's activations.
constexpr std::uint64_t kPieceRows = 32;

// Pieces a thread takes one by one: enough that a thread which is held up leaves work to others.
constexpr std::size_t kTurnsAThread = 4;

inline std::uint64_t piece_count(std::uint64_t rows) {
  return (rows + kPieceRows - 1) / kPieceRows;
}

// Activations in the forms that matrices need: a packed matrix reads the blocks, others the floats.
// A form that no matrix of theirs reads may be null.
struct Activations {
  const kernel::cpu::ActivationBlock *blocks = nullptr;  // [rows][columns / 32]
  const float *values = nullptr;                         // [rows][columns]
  std::size_t rows = 0;

  // The rows from `first` on; `columns` are those of a row.
  Activations part(std::size_t first, std::size_t count, std::size_t columns) const;
};

// Floats of scratch memory that a product with the matrix needs.
std::size_t product_scratch(const MatrixView& matrix);

// activations * matrix^T with the kernel of the matrix's form. Bits of a value depend neither on
// other rows nor on how the matrix was sliced.
void multiply(const kernel::cpu::LinearKernels& kernels, const MatrixView& matrix,
              const Activations& activations, const kernel::cpu::ProductOutput& output,
              float *scratch);

}  // namespace zllm::backend::cpu
