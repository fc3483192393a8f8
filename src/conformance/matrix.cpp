#include <zllm/conformance/matrix.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include <zllm/base/check.h>
#include <zllm/encoding/half.h>

namespace zllm::conformance {
namespace {

using encoding::Encoding;

bool is_plain(Encoding encoding) { return encoding::info(encoding).block_elements == 1; }

void append(std::vector<std::byte>& bytes, const void *from, std::size_t count) {
  const auto *const begin = static_cast<const std::byte *>(from);
  bytes.insert(bytes.end(), begin, begin + count);
}

void append_plain(std::vector<std::byte>& bytes, Encoding encoding, float value) {
  if (encoding == Encoding::f32) {
    append(bytes, &value, sizeof value);
    return;
  }
  ZLLM_CHECK(encoding == Encoding::f16 || encoding == Encoding::bf16,
             "a plain encoding of 16 bits");
  const std::uint16_t half =
      encoding == Encoding::f16 ? encoding::f32_to_f16(value) : encoding::f32_to_bf16(value);
  append(bytes, &half, sizeof half);
}

void decode(Matrix& matrix) {
  matrix.values.resize(matrix.rows * matrix.columns);
  encoding::decode(matrix.encoding, matrix.bytes, matrix.values);
}

// Random bytes until they are a block whose largest number is in [largest / 8, largest]: scales
// are anywhere in a block and of any size, and a few binades are a fair part of all.
std::vector<std::byte> random_block(Source& source, Encoding encoding, float largest) {
  const encoding::EncodingInfo& format = encoding::info(encoding);
  std::vector<std::byte> block(format.block_bytes);
  std::vector<float> values(format.block_elements);
  float size = 0.0F;
  do {
    for (std::size_t begin = 0; begin < block.size(); begin += sizeof(std::uint64_t)) {
      const std::uint64_t bits = source.next();
      std::memcpy(block.data() + begin, &bits, std::min(sizeof bits, block.size() - begin));
    }
    encoding::decode(encoding, block, values);
    size = 0.0F;
    for (const float value : values) {
      size = std::isfinite(value) ? std::max(size, std::abs(value)) : INFINITY;
    }
  } while (!(size >= largest / 8 && size <= largest));
  return block;
}

// Distinct blocks of a matrix; finding more takes longer than all that a case computes.
constexpr std::uint64_t kBlocks = 8;

}  // namespace

encoding::WeightView Matrix::view() const {
  return {.encoding = encoding, .rows = rows, .columns = columns, .bytes = bytes, .name = "matrix"};
}

Matrix plain_matrix(Encoding encoding, std::uint64_t columns, std::span<const float> values) {
  Matrix matrix{.encoding = encoding,
                .rows = values.size() / columns,
                .columns = columns,
                .bytes = {},
                .values = {}};
  for (const float value : values) {
    append_plain(matrix.bytes, encoding, value);
  }
  decode(matrix);
  return matrix;
}

Matrix random_matrix(Source& source, Encoding encoding, std::uint64_t rows, std::uint64_t columns) {
  const float deviation = 1.0F / std::sqrt(static_cast<float>(columns));
  if (is_plain(encoding)) {
    return plain_matrix(encoding, columns, source.values(rows * columns, deviation));
  }
  constexpr float kLargest = 3.0F;  // deviations that the largest number of a block lies away
  Matrix matrix{.encoding = encoding, .rows = rows, .columns = columns, .bytes = {}, .values = {}};
  const std::uint64_t blocks = rows * columns / encoding::info(encoding).block_elements;
  std::vector<std::vector<std::byte>> distinct;
  distinct.reserve(std::min(blocks, kBlocks));
  for (std::uint64_t i = 0; i < std::min(blocks, kBlocks); ++i) {
    distinct.push_back(random_block(source, encoding, kLargest * deviation));
  }
  for (std::uint64_t i = 0; i < blocks; ++i) {
    const auto& block = i < distinct.size()
                            ? distinct[i]
                            : distinct[source.below(static_cast<std::uint32_t>(distinct.size()))];
    append(matrix.bytes, block.data(), block.size());
  }
  decode(matrix);
  return matrix;
}

std::vector<float> stored(std::span<const float> values, backend::KvType type) {
  std::vector<float> copy(values.begin(), values.end());
  for (float& value : copy) {
    value =
        type == backend::KvType::f32 ? value : encoding::f16_to_f32(encoding::f32_to_f16(value));
  }
  return copy;
}

backend::KvType kv_type(Encoding encoding) {
  return encoding == Encoding::f32 ? backend::KvType::f32 : backend::KvType::f16;
}

std::vector<double> product(const Matrix& matrix, std::span<const float> input) {
  const std::size_t rows = input.size() / matrix.columns;
  std::vector<double> output(rows * matrix.rows);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t o = 0; o < matrix.rows; ++o) {
      double sum = 0;
      for (std::size_t c = 0; c < matrix.columns; ++c) {
        sum += static_cast<double>(input[row * matrix.columns + c]) *
               static_cast<double>(matrix.values[o * matrix.columns + c]);
      }
      output[row * matrix.rows + o] = sum;
    }
  }
  return output;
}

}  // namespace zllm::conformance
