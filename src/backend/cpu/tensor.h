#pragma once

#include <cstdint>
#include <utility>

#include <zllm/backend/cpu/buffer.h>
#include <zllm/base/check.h>

namespace zllm::backend::cpu {

// f32 activations, row-major without gaps.
class Tensor {
 public:
  static Result<Tensor> make(std::uint32_t capacity, std::uint32_t columns) {
    ZLLM_TRY(Buffer<float> values, Buffer<float>::make(std::size_t{capacity} * columns));
    return Tensor(std::move(values), capacity, columns);
  }

  void set_rows(std::uint32_t rows) {
    ZLLM_CHECK(rows <= capacity_, "more rows than the tensor was made for");
    rows_ = rows;
  }

  std::uint32_t rows() const { return rows_; }
  std::uint32_t columns() const { return columns_; }
  std::size_t size() const { return std::size_t{rows_} * columns_; }
  float *data() { return values_.data(); }
  const float *data() const { return values_.data(); }
  float *row(std::uint32_t index) { return data() + std::size_t{index} * columns_; }
  const float *row(std::uint32_t index) const { return data() + std::size_t{index} * columns_; }

 private:
  Tensor(Buffer<float> values, std::uint32_t capacity, std::uint32_t columns)
      : values_(std::move(values)), capacity_(capacity), rows_(capacity), columns_(columns) {}

  Buffer<float> values_;
  std::uint32_t capacity_;
  std::uint32_t rows_;
  std::uint32_t columns_;
};

}  // namespace zllm::backend::cpu
