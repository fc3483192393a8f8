#include <algorithm>

#include <zllm/backend/cpu/state.h>
#include <zllm/base/text.h>

namespace zllm::backend::cpu {
namespace {

// Matrix rows of one piece of work: two panels of the packed form, which share what a product
// reads.
constexpr std::size_t kPanelRows = 16;
constexpr std::size_t kPanelsAPiece = 2;
constexpr std::size_t kRowsAPiece = kPanelsAPiece * kPanelRows;
// Pieces a thread takes one by one: enough that a thread which is held up leaves work to others.
constexpr std::size_t kTurnsAThread = 4;
// Quantising fewer values than this is cheaper than waking other threads for it.
constexpr std::size_t kQuantizeAlone = 8192;

std::uint64_t pieces(const CpuBackend::Job& job) {
  return (job.weight->rows() + kRowsAPiece - 1) / kRowsAPiece;
}

bool is_plain(encoding::Encoding encoding) {
  using enum encoding::Encoding;
  return encoding == f32 || encoding == f16 || encoding == bf16;
}

bool needs_decoding(const CpuBackend::Job& job) {
  return job.weight->form() == Weight::Form::mapped && !is_plain(job.weight->encoding());
}

}  // namespace

// All jobs read the same input, so they share its quantised form and one fork of the threads.
Status CpuBackend::linear(const Tensor& in, std::span<const Job> jobs, LinearOutput output) {
  ThreadPool& threads = state_->threads;
  const std::size_t blocks = in.columns() / kernel::cpu::kActivationBlock;
  const bool needs_blocks = std::ranges::any_of(
      jobs, [](const Job& job) { return job.weight->form() == Weight::Form::packed; });
  if (needs_blocks) {
    ZLLM_TRY(state_->activations.grow(blocks * in.rows()));
    const auto quantize = [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t row = begin; row < end; ++row) {
        state_->linear->quantize_row({.input = in.row(static_cast<std::uint32_t>(row)),
                                      .columns = in.columns(),
                                      .blocks = state_->activations.data() + row * blocks});
      }
    };
    if (in.size() < kQuantizeAlone) {
      quantize(0, in.rows());
    } else {
      threads.parallel_for(in.rows(), 1, quantize);
    }
  }
  if (std::ranges::any_of(jobs, needs_decoding)) {
    ZLLM_TRY(
        state_->decoded_rows.grow(kernel::cpu::kDecodedRows * in.columns() * threads.threads()));
  }
  std::uint64_t total = 0;
  for (const Job& job : jobs) {
    total += pieces(job);
  }
  const std::uint64_t grain =
      std::max<std::uint64_t>(1, total / (threads.threads() * kTurnsAThread));
  threads.parallel_for(total, grain,
                       [&](std::uint64_t begin, std::uint64_t end, std::size_t worker) {
                         std::uint64_t first = 0;
                         for (const Job& job : jobs) {
                           const std::uint64_t count = pieces(job);
                           const std::uint64_t from = std::max(begin, first);
                           const std::uint64_t to = std::min(end, first + count);
                           if (from < to) {
                             multiply(in, job, output, from - first, to - first, worker);
                           }
                           first += count;
                         }
                       });
  return {};
}

// Pieces [begin, end) of one product.
void CpuBackend::multiply(const Tensor& in, const Job& job, LinearOutput output,
                          std::uint64_t begin, std::uint64_t end, std::size_t worker) {
  const Weight& weight = *job.weight;
  const kernel::cpu::ProductOutput destination{
      .values = job.out->data() + job.first_column,
      .stride = job.out->columns(),
      .bias = job.bias != nullptr ? job.bias->values() : nullptr,
      .accumulate = output == LinearOutput::accumulate};
  if (weight.form() == Weight::Form::packed) {
    const std::uint64_t panels = kernel::cpu::panel_count(weight.rows());
    state_->linear->multiply_packed({.matrix = weight.panels(),
                                     .first_panel = begin * kPanelsAPiece,
                                     .end_panel = std::min(end * kPanelsAPiece, panels),
                                     .activations = state_->activations.data(),
                                     .activation_rows = in.rows(),
                                     .output = destination});
    return;
  }
  const std::uint64_t first_row = begin * kRowsAPiece;
  const std::uint64_t end_row = std::min<std::uint64_t>(end * kRowsAPiece, weight.rows());
  if (!is_plain(weight.encoding())) {
    const std::size_t scratch = kernel::cpu::kDecodedRows * weight.columns();
    kernel::cpu::multiply_decoded(*state_->linear,
                                  {.matrix = weight.view(),
                                   .first_row = first_row,
                                   .end_row = end_row,
                                   .activations = in.data(),
                                   .activation_rows = in.rows(),
                                   .activation_stride = in.columns(),
                                   .scratch = state_->decoded_rows.data() + scratch * worker,
                                   .output = destination});
    return;
  }
  state_->linear->multiply_plain({.encoding = weight.encoding(),
                                  .weights = weight.bytes(),
                                  .columns = weight.columns(),
                                  .first_row = first_row,
                                  .end_row = end_row,
                                  .activations = in.data(),
                                  .activation_rows = in.rows(),
                                  .activation_stride = in.columns(),
                                  .output = destination});
}

}  // namespace zllm::backend::cpu
