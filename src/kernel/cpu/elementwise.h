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

enum class NormGate : std::uint8_t {
  silu,     // z * sigmoid(z)
  sigmoid,  // sigmoid(z)
};

// The output may be the gate instead of the input where it has its stride.
struct GatedNormParams {
  NormParams norm;              // without bias
  const float *gate = nullptr;  // [rows][groups][columns], z
  std::size_t gate_row_stride = 0;
  NormGate function = NormGate::silu;
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

// A gate (left) and what it passes (right).
struct GateParams {
  BinaryParams rows;
  float limit = 0.0F;
  float alpha = 0.0F;
  float beta = 0.0F;
  float linear_beta = 0.0F;
};

// One row: output = the sum over k, ascending, of weights[k] * terms[places[k]], every step
// rounded.
struct WeightedSumParams {
  const float *terms = nullptr;  // rows of `columns`
  std::size_t term_stride = 0;
  const std::uint32_t *places = nullptr;  // [count]
  const float *weights = nullptr;         // [count]
  std::size_t count = 0;
  float *output = nullptr;  // [columns]
  std::size_t columns = 0;
  bool accumulate = false;  // the sum is added to what is there
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
  // weight * (x / sqrt(mean(x^2) + epsilon)) * function(gate).
  void (*gated_rms_norm)(const GatedNormParams& params);
  void (*add)(const BinaryParams& params);
  void (*weighted_sum)(const WeightedSumParams& params);
  // left * sigmoid(left) * right.
  void (*swiglu)(const BinaryParams& params);
  // g = min(left, limit), u = right within -limit .. limit: g * sigmoid(g) * u.
  void (*clamped_swiglu)(const GateParams& params);
  // The same g and u: g * sigmoid(alpha * g) * (u + 1).
  void (*swiglu_oai)(const GateParams& params);
  // left / 2 * (1 + tanh(sqrt(2 / pi) * (left + 0.044715 left^3))) * right.
  void (*geglu_tanh)(const BinaryParams& params);
  // u = linear_beta * tanh(right / linear_beta), or right where linear_beta is 0 or less:
  // beta * tanh(left / beta) * sigmoid(left) * u.
  void (*situ)(const GateParams& params);
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
