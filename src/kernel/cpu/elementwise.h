#pragma once

#include <cstddef>
#include <cstdint>

// Operations on rows of f32. A row's result depends on that row alone. Strides are in floats;
// output may be the input where both have the same stride, else they must not overlap.
namespace zllm::kernel::cpu {

// Each group of `columns` is normalised alone: a whole row, or the heads of a row.
struct NormParams {
  const float *input = nullptr;  // [rows][groups][columns]; groups of a row contiguous
  float *output = nullptr;
  std::size_t input_row_stride = 0;
  std::size_t output_row_stride = 0;
  std::size_t rows = 0;
  std::size_t groups = 1;
  std::size_t columns = 0;
  const float *weight = nullptr;  // [columns] or null: ones
  const float *bias = nullptr;    // [columns] or null: none; layer_norm alone
  float epsilon = 0.0F;
};

struct BinaryParams {
  const float *left = nullptr;   // [rows][columns]
  const float *right = nullptr;  // [rows][columns]; row stride 0: the same vector for every row
  float *output = nullptr;
  std::size_t left_row_stride = 0;
  std::size_t right_row_stride = 0;
  std::size_t output_row_stride = 0;
  std::size_t rows = 0;
  std::size_t columns = 0;
};

struct UnaryParams {
  const float *input = nullptr;  // [rows][columns]
  float *output = nullptr;
  std::size_t input_row_stride = 0;
  std::size_t output_row_stride = 0;
  std::size_t rows = 0;
  std::size_t columns = 0;
  float factor = 1.0F;
};

enum class RopePairing : std::uint8_t {
  half,      // lanes (i, i + rotated / 2)
  adjacent,  // lanes (2i, 2i + 1)
};

// Turns the first `rotated` lanes of every head in place.
struct RopeParams {
  float *heads = nullptr;  // [rows][head_count][head]; heads of a row contiguous
  std::size_t row_stride = 0;
  std::size_t rows = 0;
  std::size_t head_count = 0;
  std::size_t head = 0;
  std::size_t rotated = 0;         // even
  const float *cosines = nullptr;  // [rows][rotated / 2]
  const float *sines = nullptr;
  RopePairing pairing = RopePairing::half;
};

struct LargestElement {
  std::size_t index = 0;  // the lowest of equal ones; NaN elements are passed over
  bool has_nan = false;
};

// One instruction set's instance; thread-safe on disjoint rows.
struct ElementwiseKernels {
  // weight * (x / sqrt(mean(x^2) + epsilon)).
  void (*rms_norm)(const NormParams& params);
  // weight * ((x - mean) / sqrt(variance + epsilon)) + bias.
  void (*layer_norm)(const NormParams& params);
  void (*add)(const BinaryParams& params);
  // left * sigmoid(left) * right.
  void (*swiglu)(const BinaryParams& params);
  // factor * x.
  void (*scale)(const UnaryParams& params);
  // factor * tanh(x / factor).
  void (*softcap)(const UnaryParams& params);
  void (*rope)(const RopeParams& params);
  LargestElement (*largest_element)(const float *values, std::size_t count);
  bool (*has_nonfinite)(const float *values, std::size_t count);
  // Half precision; narrowing rounds to the nearest even.
  void (*widen_halves)(const std::uint16_t *halves, std::size_t count, float *values);
  void (*narrow_to_halves)(const float *values, std::size_t count, std::uint16_t *halves);
};

}  // namespace zllm::kernel::cpu
