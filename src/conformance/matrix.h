#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <zllm/backend/capability/paged.h>
#include <zllm/conformance/source.h>
#include <zllm/encoding/encoding.h>

namespace zllm::conformance {

// A matrix in an encoding, and what its blocks mean.
struct Matrix {
  encoding::Encoding encoding = encoding::Encoding::f32;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::vector<std::byte> bytes;  // a backend may drop them once it has loaded the view
  std::vector<float> values;     // [rows, columns]

  encoding::WeightView view() const;
};

// Random blocks whose numbers are finite and of the size that keeps a product's results near the
// size of its input.
Matrix random_matrix(Source& source, encoding::Encoding encoding, std::uint64_t rows,
                     std::uint64_t columns);

// The values in f32, f16 or bf16.
Matrix plain_matrix(encoding::Encoding encoding, std::uint64_t columns,
                    std::span<const float> values);

// What a cache of this type gives back.
std::vector<float> stored(std::span<const float> values, backend::KvType type);

// The cache type of an encoding that is one (backend::encoding_of).
backend::KvType kv_type(encoding::Encoding encoding);

// output[row, o] = input[row] . matrix[o], summed in f64; [rows, matrix.rows].
std::vector<double> product(const Matrix& matrix, std::span<const float> input);

}  // namespace zllm::conformance
