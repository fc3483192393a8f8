#pragma once

#include <cstddef>

#include <zllm/kernel/cpu/linear.h>

namespace zllm::kernel::cpu {

// Matrix rows that are decoded together, so that one pass over the activations serves them all.
constexpr std::size_t kDecodedRows = 4;

// f32 activations times a row-major matrix of any weight encoding, for matrix rows
// [first_row, end_row): a few rows at a time are decoded to f32 into `scratch`, never the matrix.
// Bits are those of the same product with the decoded matrix in F32.
struct DecodedProduct {
  encoding::WeightView matrix;
  std::uint64_t first_row;
  std::uint64_t end_row;
  const float *activations;  // [activation_rows][activation_stride]
  std::size_t activation_rows;
  std::size_t activation_stride;
  float *scratch;  // [kDecodedRows][matrix.columns], the caller's own
  ProductOutput output;
};

void multiply_decoded(const LinearKernels& kernels, const DecodedProduct& params);

}  // namespace zllm::kernel::cpu
