#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <zllm/backend/cpu/state.h>
#include <zllm/base/checked.h>
#include <zllm/base/mapped_file.h>
#include <zllm/base/text.h>
#include <zllm/encoding/encoding.h>
#include <zllm/kernel/cpu/panel_layout.h>

namespace zllm::backend::cpu {
namespace {

// Packing fewer panels than this at a time would spend its time on starting.
constexpr std::size_t kPanelsAPiece = 64;
constexpr std::size_t kLine = 64;

Status check_shape(const encoding::WeightView& view) {
  const auto bytes = encoding::row_bytes(view.encoding, view.columns);
  ZLLM_CHECK(bytes && *bytes * view.rows == view.bytes.size(), "a view whose bytes do not fit");
  if (view.rows == 0 || view.columns == 0) {
    return Error{Code::invalid_file, "a weight without elements"};
  }
  return {};
}

std::uint64_t pieces_of(const encoding::WeightView& view) {
  return (kernel::cpu::panel_count(view.rows) + kPanelsAPiece - 1) / kPanelsAPiece;
}

// Where the panels of each matrix begin in the memory of all, and its size.
Result<std::vector<std::size_t>> places(std::span<const encoding::WeightView> views) {
  std::vector<std::size_t> begins{0};
  for (const encoding::WeightView& view : views) {
    ZLLM_TRY(check_shape(view));
    std::optional<std::uint64_t> end = begins.back();
    if (kernel::cpu::packable(view.encoding)) {
      const auto bytes = kernel::cpu::packed_bytes(view.encoding, view.rows, view.columns);
      // Panels begin on cache lines.
      const auto padded = bytes ? checked_add<std::uint64_t>(*bytes, kLine - 1) : bytes;
      end = padded ? checked_add<std::uint64_t>(*end, *padded / kLine * kLine) : padded;
    }
    if (!end) {
      return Error{Code::invalid_file, concat("cannot pack ", view.rows, " x ", view.columns)};
    }
    begins.push_back(*end);
  }
  return begins;
}

MatrixView mapped(const encoding::WeightView& view) {
  return {.encoding = view.encoding,
          .rows = view.rows,
          .columns = view.columns,
          .bytes = view.bytes.data()};
}

MatrixView packed(const encoding::WeightView& view, const std::byte *panels) {
  return {.is_packed = true,
          .encoding = view.encoding,
          .rows = view.rows,
          .columns = view.columns,
          .bytes = panels};
}

// One shape for all experts.
Status check_experts(const ExpertViews& views) {
  ZLLM_CHECK(!views.gate.empty() && views.up.size() == views.gate.size() &&
                 views.down.size() == views.gate.size(),
             "experts without one matrix of each kind");
  const std::uint64_t width = views.gate.front().columns;
  const std::uint64_t intermediate = views.gate.front().rows;
  for (std::size_t i = 0; i < views.gate.size(); ++i) {
    const auto fits = [](const encoding::WeightView& view, std::uint64_t rows,
                         std::uint64_t columns) {
      return view.rows == rows && view.columns == columns;
    };
    if (!fits(views.gate[i], intermediate, width) || !fits(views.up[i], intermediate, width) ||
        !fits(views.down[i], width, intermediate)) {
      return Error{Code::invalid_file, concat("expert ", i, " is not of the shape ", intermediate,
                                              " x ", width, " of the first")};
    }
  }
  return {};
}

// Packs one piece of a matrix, whose part of the file is not needed from then on.
Status pack_piece(const encoding::WeightView& view, std::uint64_t piece, std::byte *panels) {
  const std::uint64_t first = piece * kPanelsAPiece;
  const std::uint64_t end = std::min(first + kPanelsAPiece, kernel::cpu::panel_count(view.rows));
  ZLLM_TRY(kernel::cpu::pack_panels(view, first, end, panels));
  const std::uint64_t first_row = first * kernel::cpu::kPanelRows;
  const std::uint64_t end_row = std::min<std::uint64_t>(end * kernel::cpu::kPanelRows, view.rows);
  MappedFile::release(encoding::slice_rows(view, first_row, end_row - first_row).bytes);
  return {};
}

}  // namespace

Result<MatrixStack> CpuBackend::load_stack(std::span<const encoding::WeightView> views) {
  MatrixStack stack;
  ZLLM_TRY(std::vector<std::size_t> begins, places(views));
  ZLLM_TRY(stack.panels, Buffer<std::byte>::make(begins.back()));
  std::vector<std::size_t> pieces(views.size() + 1);  // the first of each matrix, and the end
  for (std::size_t i = 0; i < views.size(); ++i) {
    const bool packs = begins[i] < begins[i + 1];
    const encoding::WeightView& view = views[i];
    stack.matrices.push_back(packs ? packed(view, stack.panels.data() + begins[i]) : mapped(view));
    pieces[i + 1] = pieces[i] + (packs ? pieces_of(view) : 0);
  }
  std::mutex mutex;
  std::optional<Error> failure;
  std::size_t failed = views.size();
  state_->threads.parallel_for(pieces.back(), 1, [&](std::uint64_t piece, std::uint64_t) {
    const auto owner = std::ranges::upper_bound(pieces, piece) - pieces.begin() - 1;
    const auto i = static_cast<std::size_t>(owner);
    Status status = pack_piece(views[i], piece - pieces[i], stack.panels.data() + begins[i]);
    const std::lock_guard lock(mutex);
    if (!status.ok() && i < failed) {
      failed = i;
      failure = std::move(status).error();
    }
  });
  if (failure) {
    return views.size() == 1 ? std::move(*failure)
                             : std::move(*failure).within(concat("expert ", failed));
  }
  return stack;
}

Result<Weight> CpuBackend::load_matrix(const encoding::WeightView& view, MatrixUse) {
  ZLLM_TRY(MatrixStack stack, load_stack({&view, 1}));
  return stack.panels.size() == 0 ? Weight::mapped(view)
                                  : Weight::packed(view, std::move(stack.panels));
}

Result<Experts> CpuBackend::load_experts(const ExpertViews& views) {
  ZLLM_TRY(check_experts(views));
  Experts experts;
  const auto load = [&](std::string_view what, const auto& matrices, MatrixStack& stack) -> Status {
    Result<MatrixStack> loaded = load_stack(matrices);
    if (!loaded.ok()) {
      return std::move(loaded).error().within(what);
    }
    stack = std::move(loaded).value();
    return {};
  };
  ZLLM_TRY(load("gate", views.gate, experts.gate));
  ZLLM_TRY(load("up", views.up, experts.up));
  ZLLM_TRY(load("down", views.down, experts.down));
  return experts;
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
  const MatrixView matrix = table.matrix();
  const auto look_up = [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      const auto token = static_cast<std::uint64_t>(tokens[i]);
      ZLLM_CHECK(token < table.rows(), "a token outside the table");
      float *const row = out.row(static_cast<std::uint32_t>(i));
      if (matrix.is_packed) {
        kernel::cpu::unpack_row(matrix.panels(), token, row);
      } else {
        encoding::decode(table.encoding(), {matrix.bytes + token * *row_bytes, *row_bytes},
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
