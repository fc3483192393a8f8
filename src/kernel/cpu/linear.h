#pragma once

#include <cstddef>
#include <cstdint>

#include <zllm/encoding/encoding.h>
#include <zllm/kernel/cpu/activation_block.h>
#include <zllm/kernel/cpu/packed_matrix.h>

namespace zllm::kernel::cpu {

// Where a product goes: output[row * stride + n] for activation row `row` and matrix row n.
struct ProductOutput {
  float *values;
  std::size_t stride;
  const float *bias = nullptr;  // [matrix rows], added to each product
  bool accumulate = false;      // adds to what is there instead of replacing it
};

// Quantised activations times the transposed matrix, for panels [first_panel, end_panel).
// A value has the same bits however its rows and panels are cut into calls: each sums its columns
// in ascending order in one lane. The encoding must be packable().
struct PackedProduct {
  PackedMatrix matrix;
  std::uint64_t first_panel;
  std::uint64_t end_panel;
  const ActivationBlock *activations;  // [activation_rows][matrix.columns / 32]
  std::size_t activation_rows;
  ProductOutput output;
};

// f32 activations times a row-major matrix of F32, F16 or BF16 that is used in place, for matrix
// rows [first_row, end_row). Same promise.
struct PlainProduct {
  encoding::Encoding encoding;
  const std::byte *weights;  // [matrix rows][columns], at any address
  std::uint64_t columns;
  std::uint64_t first_row;
  std::uint64_t end_row;
  const float *activations;  // [activation_rows][activation_stride]
  std::size_t activation_rows;
  std::size_t activation_stride;
  ProductOutput output;
};

// Matrix products of one instruction set. Thread-safe: a call touches what its parameters name.
struct LinearKernels {
  void (*quantize_row)(const QuantizeRow& params);
  void (*multiply_packed)(const PackedProduct& params);
  void (*multiply_plain)(const PlainProduct& params);
};

}  // namespace zllm::kernel::cpu
