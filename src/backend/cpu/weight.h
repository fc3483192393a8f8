#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <zllm/backend/cpu/buffer.h>
#include <zllm/backend/cpu/matrix_view.h>
#include <zllm/encoding/encoding.h>

namespace zllm::backend::cpu {

// A resident matrix or vector in one of three forms.
class Weight {
 public:
  enum class Form : std::uint8_t {
    mapped,  // used where it lies in the file
    packed,  // panels for the integer kernels; the file's pages are dropped
    vector,  // f32
  };

  static Weight mapped(const encoding::WeightView& view) { return Weight(Form::mapped, view, {}); }
  static Weight packed(const encoding::WeightView& view, Buffer<std::byte> panels) {
    return Weight(Form::packed, view, std::move(panels));
  }
  static Weight vector(const encoding::WeightView& view, Buffer<std::byte> values) {
    return Weight(Form::vector, view, std::move(values));
  }

  Form form() const { return form_; }
  encoding::Encoding encoding() const { return encoding_; }
  std::uint64_t rows() const { return rows_; }
  std::uint64_t columns() const { return columns_; }
  const float *values() const { return reinterpret_cast<const float *>(owned_.data()); }  // vector
  MatrixView matrix() const {  // mapped or packed
    return {.is_packed = form_ == Form::packed,
            .encoding = encoding_,
            .rows = rows_,
            .columns = columns_,
            .bytes = form_ == Form::packed ? owned_.data() : source_};
  }

 private:
  Weight(Form form, const encoding::WeightView& view, Buffer<std::byte> owned)
      : form_(form),
        encoding_(view.encoding),
        rows_(view.rows),
        columns_(view.columns),
        source_(form == Form::mapped ? view.bytes.data() : nullptr),
        owned_(std::move(owned)) {}

  Form form_;
  encoding::Encoding encoding_;
  std::uint64_t rows_;
  std::uint64_t columns_;
  const std::byte *source_;
  Buffer<std::byte> owned_;
};

}  // namespace zllm::backend::cpu
