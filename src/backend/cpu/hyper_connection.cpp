#include <algorithm>
#include <array>
#include <cmath>

#include <zllm/backend/cpu/product.h>
#include <zllm/backend/cpu/state.h>
#include <zllm/backend/cpu/stream_mixing.h>
#include <zllm/base/text.h>

namespace zllm::backend::cpu {
namespace {

using kernel::cpu::kStreams;

// Values of a round that one thread handles faster than it wakes others.
constexpr std::size_t kValuesAlone = 16384;
// The mixing matrix is wide and has few rows: its product is cut both ways, so that one row of a
// round still keeps several threads busy and a prompt does not pass the matrix once a row.
constexpr std::uint64_t kLogitsAPiece = 4;
constexpr std::uint64_t kPanelRows = 16;  // a packed matrix is cut between its panels
constexpr std::uint64_t kRowsAPiece = 16;

// Calls piece(begin, end, worker) for ranges that make up [0, count); `values` are those of the
// whole.
template <class Piece>
void run_pieces(ThreadPool& threads, std::uint64_t count, std::uint64_t grain, std::size_t values,
                Piece piece) {
  if (values <= kValuesAlone) {
    piece(std::uint64_t{0}, count, std::size_t{0});
    return;
  }
  threads.parallel_for(count, grain, piece);
}

std::uint64_t row_grain(const ThreadPool& threads, std::uint64_t rows) {
  return std::max<std::uint64_t>(1, rows / (4 * threads.threads()));
}

Status check_streams(std::uint64_t streams) {
  if (streams == 0 || streams > kStreams) {
    return Error{Code::invalid_argument,
                 concat(streams, " residual streams, of which this backend has 1 to ", kStreams)};
  }
  return {};
}

}  // namespace

// mixing * streams^T, not yet divided by the rows' norms.
Status CpuBackend::mixing_logits(const Weight& mixing, const Tensor& streams) {
  const MatrixView matrix = mixing.matrix();
  const std::size_t scratch = product_scratch(matrix);
  if (matrix.is_packed) {
    ZLLM_TRY(quantize(streams));
  }
  ZLLM_TRY(state_->decoded_rows.grow(scratch * state_->threads.threads()));
  ZLLM_TRY(state_->mixing_logits.grow(matrix.rows * streams.rows()));
  const Activations all{
      .blocks = state_->activations.data(), .values = streams.data(), .rows = streams.rows()};
  const std::uint64_t piece = matrix.is_packed ? kPanelRows : kLogitsAPiece;
  const std::uint64_t pieces = (matrix.rows + piece - 1) / piece;
  const std::uint64_t blocks = (streams.rows() + kRowsAPiece - 1) / kRowsAPiece;
  run_pieces(state_->threads, pieces * blocks, 1, streams.size(),
             [&](std::uint64_t begin, std::uint64_t end, std::size_t worker) {
               for (std::uint64_t i = begin; i < end; ++i) {
                 const std::uint64_t first = i % pieces * piece;
                 const std::uint64_t row = i / pieces * kRowsAPiece;
                 const std::uint64_t rows = std::min(kRowsAPiece, streams.rows() - row);
                 multiply(*state_->linear, matrix.slice(first, first + piece),
                          all.part(row, rows, streams.columns()),
                          {.values = state_->mixing_logits.data() + row * matrix.rows + first,
                           .stride = matrix.rows},
                          state_->decoded_rows.data() + scratch * worker);
               }
             });
  return {};
}

Status CpuBackend::split_streams(const residual::HyperConnectionSpec& spec,
                                 const HyperConnectionWeights<Weight>& weights,
                                 const Tensor& streams, Tensor& input, Tensor& mixing) {
  ZLLM_TRY(check_streams(spec.streams));
  const std::size_t logits = residual::mix_width(spec);
  ZLLM_CHECK(streams.columns() == spec.streams * input.columns() &&
                 mixing.columns() == logits - spec.streams && input.rows() == streams.rows() &&
                 mixing.rows() == streams.rows(),
             "shape of split_streams");
  ZLLM_CHECK(weights.mixing->rows() == logits && weights.mixing->columns() == streams.columns() &&
                 weights.base->rows() * weights.base->columns() == logits &&
                 weights.scale->rows() * weights.scale->columns() == 3,
             "weights of split_streams");
  ZLLM_TRY(mixing_logits(*weights.mixing, streams));
  run_pieces(state_->threads, streams.rows(), row_grain(state_->threads, streams.rows()),
             streams.size(), [&](std::uint64_t begin, std::uint64_t end, std::size_t) {
               for (auto row = static_cast<std::uint32_t>(begin); row < end; ++row) {
                 const float *const own = streams.row(row);
                 const double squares =
                     static_cast<double>(state_->streams->sum_of_squares(own, streams.columns()));
                 std::array<float, kStreams> before;
                 mix_row(spec, {state_->mixing_logits.data() + row * logits, logits},
                         1.0 / std::sqrt(squares / streams.columns() + spec.norm_epsilon),
                         weights.base->values(), weights.scale->values(), before,
                         {mixing.row(row), mixing.columns()});
                 state_->streams->sum({.streams = own,
                                       .count = spec.streams,
                                       .width = input.columns(),
                                       .weights = before.data(),
                                       .output = input.row(row)});
               }
             });
  return {};
}

Status CpuBackend::merge_streams(const residual::HyperConnectionSpec& spec, const Tensor& sublayer,
                                 const Tensor& mixing, Tensor& streams) {
  ZLLM_TRY(check_streams(spec.streams));
  ZLLM_CHECK(streams.columns() == spec.streams * sublayer.columns() &&
                 mixing.columns() == residual::mix_width(spec) - spec.streams &&
                 sublayer.rows() == streams.rows() && mixing.rows() == streams.rows(),
             "shape of merge_streams");
  run_pieces(state_->threads, streams.rows(), row_grain(state_->threads, streams.rows()),
             streams.size(), [&](std::uint64_t begin, std::uint64_t end, std::size_t) {
               for (auto row = static_cast<std::uint32_t>(begin); row < end; ++row) {
                 state_->streams->merge({.sublayer = sublayer.row(row),
                                         .after = mixing.row(row),
                                         .combine = mixing.row(row) + spec.streams,
                                         .count = spec.streams,
                                         .width = sublayer.columns(),
                                         .streams = streams.row(row)});
               }
             });
  return {};
}

Status CpuBackend::expand_streams(const Tensor& rows, Tensor& streams) {
  ZLLM_CHECK(streams.columns() % rows.columns() == 0 && streams.rows() == rows.rows(),
             "shape of expand_streams");
  run_pieces(state_->threads, rows.rows(), row_grain(state_->threads, rows.rows()), streams.size(),
             [&](std::uint64_t begin, std::uint64_t end, std::size_t) {
               for (auto row = static_cast<std::uint32_t>(begin); row < end; ++row) {
                 float *const to = streams.row(row);
                 for (std::size_t i = 0; i < streams.columns(); i += rows.columns()) {
                   std::copy_n(rows.row(row), rows.columns(), to + i);
                 }
               }
             });
  return {};
}

Status CpuBackend::collapse_streams(const Tensor& streams, Tensor& rows) {
  ZLLM_CHECK(streams.columns() % rows.columns() == 0 && streams.rows() == rows.rows(),
             "shape of collapse_streams");
  run_pieces(state_->threads, rows.rows(), row_grain(state_->threads, rows.rows()), streams.size(),
             [&](std::uint64_t begin, std::uint64_t end, std::size_t) {
               for (auto row = static_cast<std::uint32_t>(begin); row < end; ++row) {
                 state_->streams->mean({.streams = streams.row(row),
                                        .count = streams.columns() / rows.columns(),
                                        .width = rows.columns(),
                                        .weights = nullptr,
                                        .output = rows.row(row)});
               }
             });
  return {};
}

}  // namespace zllm::backend::cpu
