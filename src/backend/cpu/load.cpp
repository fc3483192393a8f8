#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>
#include <utility>

#include <zllm/backend/cpu/state.h>
#include <zllm/base/mapped_file.h>
#include <zllm/base/text.h>
#include <zllm/encoding/encoding.h>

namespace zllm::backend::cpu {
namespace {

// Packing fewer panels than this at a time would spend its time on starting.
constexpr std::size_t kPanelsAPiece = 64;

Status check_shape(const encoding::WeightView& view) {
  const auto bytes = encoding::row_bytes(view.encoding, view.columns);
  ZLLM_CHECK(bytes && *bytes * view.rows == view.bytes.size(), "a view whose bytes do not fit");
  if (view.rows == 0 || view.columns == 0) {
    return Error{Code::invalid_file, "a weight without elements"};
  }
  return {};
}

}  // namespace

Result<Weight> CpuBackend::load_matrix(const encoding::WeightView& view, MatrixUse) {
  ZLLM_TRY(check_shape(view));
  if (!kernel::cpu::packable(view.encoding)) {
    return Weight::mapped(view);
  }
  const auto bytes = kernel::cpu::packed_bytes(view.encoding, view.rows, view.columns);
  if (!bytes) {
    return Error{Code::invalid_file, concat("cannot pack ", view.rows, " x ", view.columns)};
  }
  ZLLM_TRY(Buffer<std::byte> panels, Buffer<std::byte>::make(*bytes));
  std::mutex mutex;
  std::optional<Error> failure;
  state_->threads.parallel_for(kernel::cpu::panel_count(view.rows), kPanelsAPiece,
                               [&](std::uint64_t begin, std::uint64_t end) {
                                 Status packed =
                                     kernel::cpu::pack_panels(view, begin, end, panels.data());
                                 if (!packed.ok()) {
                                   const std::lock_guard lock(mutex);
                                   failure = std::move(packed).error();
                                 }
                               });
  if (failure) {
    return std::move(*failure);
  }
  MappedFile::release(view.bytes);
  return Weight::packed(view, std::move(panels));
}

Result<Weight> CpuBackend::load_vector(const encoding::WeightView& view) {
  ZLLM_TRY(check_shape(view));
  const std::size_t count = view.rows * view.columns;
  ZLLM_TRY(Buffer<std::byte> memory, Buffer<std::byte>::make(count * sizeof(float)));
  const std::span<float> values(reinterpret_cast<float *>(memory.data()), count);
  encoding::decode(view.encoding, view.bytes, values);
  const auto bad = std::ranges::find_if(values, [](float value) { return !std::isfinite(value); });
  if (bad != values.end()) {
    return Error{Code::invalid_file,
                 concat("element ", bad - values.begin(), " is NaN or infinite")};
  }
  return Weight::vector(view, std::move(memory));
}

Status CpuBackend::embed(const Weight& table, std::span<const TokenId> tokens, Tensor& out) {
  ZLLM_CHECK(out.columns() == table.columns() && out.rows() == tokens.size(), "shape of embed");
  const auto row_bytes = encoding::row_bytes(table.encoding(), table.columns());
  const auto look_up = [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      const auto token = static_cast<std::uint64_t>(tokens[i]);
      ZLLM_CHECK(token < table.rows(), "a token outside the table");
      float *const row = out.row(static_cast<std::uint32_t>(i));
      if (table.form() == Weight::Form::packed) {
        kernel::cpu::unpack_row(table.panels(), token, row);
      } else {
        encoding::decode(table.encoding(), {table.bytes() + token * *row_bytes, *row_bytes},
                         {row, table.columns()});
      }
    }
  };
  if (tokens.size() == 1) {
    look_up(0, 1);
  } else {
    state_->threads.parallel_for(tokens.size(), 1, look_up);
  }
  return {};
}

}  // namespace zllm::backend::cpu
