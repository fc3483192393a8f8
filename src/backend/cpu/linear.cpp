#include <algorithm>

#include <zllm/backend/cpu/product.h>
#include <zllm/backend/cpu/state.h>

namespace zllm::backend::cpu {
namespace {

// Quantising fewer values than this is cheaper than waking other threads for it.
constexpr std::size_t kQuantizeAlone = 8192;

// Pieces [begin, end) of one product.
void multiply_pieces(const kernel::cpu::LinearKernels& kernels, const CpuBackend::Job& job,
                     const Activations& activations, std::uint64_t begin, std::uint64_t end,
                     bool accumulate, float *scratch) {
  const std::uint64_t first = begin * kPieceRows;
  multiply(kernels, job.weight->matrix().slice(first, end * kPieceRows), activations,
           {.values = job.out->data() + job.first_column + first,
            .stride = job.out->columns(),
            .bias = job.bias != nullptr ? job.bias->values() + first : nullptr,
            .accumulate = accumulate},
           scratch);
}

}  // namespace

Status CpuBackend::quantize(const Tensor& in) {
  const std::size_t blocks = in.columns() / kernel::cpu::kActivationBlock;
  ZLLM_TRY(state_->activations.grow(blocks * in.rows()));
  const auto quantize_rows = [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t row = begin; row < end; ++row) {
      state_->linear->quantize_row({.input = in.row(static_cast<std::uint32_t>(row)),
                                    .columns = in.columns(),
                                    .blocks = state_->activations.data() + row * blocks});
    }
  };
  if (in.size() < kQuantizeAlone) {
    quantize_rows(0, in.rows());
  } else {
    state_->threads.parallel_for(in.rows(), 1, quantize_rows);
  }
  return {};
}

// All jobs read the same input, so they share its quantised form and one fork of the threads.
Status CpuBackend::linear(const Tensor& in, std::span<const Job> jobs, LinearOutput output) {
  ThreadPool& threads = state_->threads;
  std::uint64_t total = 0;
  std::size_t scratch = 0;  // floats of one thread
  bool needs_blocks = false;
  for (const Job& job : jobs) {
    const MatrixView matrix = job.weight->matrix();
    total += piece_count(matrix.rows);
    scratch = std::max(scratch, product_scratch(matrix));
    needs_blocks = needs_blocks || matrix.is_packed;
  }
  if (needs_blocks) {
    ZLLM_TRY(quantize(in));
  }
  ZLLM_TRY(state_->decoded_rows.grow(scratch * threads.threads()));
  const Activations activations{
      .blocks = state_->activations.data(), .values = in.data(), .rows = in.rows()};
  const std::uint64_t grain =
      std::max<std::uint64_t>(1, total / (threads.threads() * kTurnsAThread));
  threads.parallel_for(total, grain,
                       [&](std::uint64_t begin, std::uint64_t end, std::size_t worker) {
                         std::uint64_t first = 0;
                         for (const Job& job : jobs) {
                           const std::uint64_t count = piece_count(job.weight->rows());
                           const std::uint64_t from = std::max(begin, first);
                           const std::uint64_t to = std::min(end, first + count);
                           if (from < to) {
                             multiply_pieces(*state_->linear, job, activations, from - first,
                                             to - first, output == LinearOutput::accumulate,
                                             state_->decoded_rows.data() + scratch * worker);
                           }
                           first += count;
                         }
                       });
  return {};
}

}  // namespace zllm::backend::cpu
