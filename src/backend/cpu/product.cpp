#include <zllm/backend/cpu/product.h>

#include <zllm/kernel/cpu/decoded_product.h>

namespace zllm::backend::cpu {

Activations Activations::part(std::size_t first, std::size_t count, std::size_t columns) const {
  const std::size_t row_blocks = columns / kernel::cpu::kActivationBlock;
  return {.blocks = blocks == nullptr ? nullptr : blocks + first * row_blocks,
          .values = values == nullptr ? nullptr : values + first * columns,
          .rows = count};
}

std::size_t product_scratch(const MatrixView& matrix) {
  return matrix.needs_decoding() ? kernel::cpu::kDecodedRows * matrix.columns : 0;
}

void multiply(const kernel::cpu::LinearKernels& kernels, const MatrixView& matrix,
              const Activations& activations, const kernel::cpu::ProductOutput& output,
              float *scratch) {
  if (matrix.is_packed) {
    kernels.multiply_packed({.matrix = matrix.panels(),
                             .first_panel = 0,
                             .end_panel = kernel::cpu::panel_count(matrix.rows),
                             .activations = activations.blocks,
                             .activation_rows = activations.rows,
                             .output = output});
    return;
  }
  if (matrix.is_plain()) {
    kernels.multiply_plain({.encoding = matrix.encoding,
                            .weights = matrix.bytes,
                            .columns = matrix.columns,
                            .first_row = 0,
                            .end_row = matrix.rows,
                            .activations = activations.values,
                            .activation_rows = activations.rows,
                            .activation_stride = matrix.columns,
                            .output = output});
    return;
  }
  kernel::cpu::multiply_decoded(kernels, {.matrix = matrix.view(),
                                          .first_row = 0,
                                          .end_row = matrix.rows,
                                          .activations = activations.values,
                                          .activation_rows = activations.rows,
                                          .activation_stride = matrix.columns,
                                          .scratch = scratch,
                                          .output = output});
}

}  // namespace zllm::backend::cpu
