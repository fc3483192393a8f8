#include <zllm/kernel/cpu/decoded_product.h>

#include <algorithm>
#include <span>

namespace zllm::kernel::cpu {

void multiply_decoded(const LinearKernels& kernels, const DecodedProduct& params) {
  const std::uint64_t columns = params.matrix.columns;
  const std::size_t row_bytes = params.matrix.bytes.size() / params.matrix.rows;
  for (std::uint64_t row = params.first_row; row < params.end_row; row += kDecodedRows) {
    const std::uint64_t rows = std::min<std::uint64_t>(kDecodedRows, params.end_row - row);
    encoding::decode(params.matrix.encoding,
                     params.matrix.bytes.subspan(row * row_bytes, rows * row_bytes),
                     std::span<float>(params.scratch, rows * columns));
    ProductOutput output = params.output;
    output.values += row;
    output.bias = output.bias == nullptr ? nullptr : output.bias + row;
    kernels.multiply_plain({.encoding = encoding::Encoding::f32,
                            .weights = reinterpret_cast<const std::byte *>(params.scratch),
                            .columns = columns,
                            .first_row = 0,
                            .end_row = rows,
                            .activations = params.activations,
                            .activation_rows = params.activation_rows,
                            .activation_stride = params.activation_stride,
                            .output = output});
  }
}

}  // namespace zllm::kernel::cpu
