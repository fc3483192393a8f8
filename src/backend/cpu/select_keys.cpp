#include <algorithm>

#include <zllm/backend/cpu/index_selection.h>
#include <zllm/backend/cpu/segment_pages.h>
#include <zllm/backend/cpu/state.h>

namespace zllm::backend::cpu {
namespace {

// Appending fewer rows than this is cheaper than waking other threads for it.
constexpr std::size_t kAppendRowsAlone = 16;

void append_keys(ThreadPool& threads, const kernel::cpu::IndexKernels& kernels, PagedCache& cache,
                 PlaneId plane, const PagedSegment& segment, const Tensor& keys) {
  const std::vector<std::byte *> pages = segment_pages(cache, plane, segment.pages);
  const auto append = [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) {
      const float *const key = keys.row(segment.first_row + static_cast<std::uint32_t>(i));
      kernels.append({.keys = &key,
                      .pool = 1,
                      .width = keys.columns(),
                      .index = segment.position + i,
                      .type = cache.kernel_type(),
                      .pages = pages.data()});
    }
  };
  if (segment.rows < kAppendRowsAlone) {
    append(0, segment.rows);
  } else {
    threads.parallel_for(segment.rows, kAppendRowsAlone, append);
  }
}

}  // namespace

Result<attention::sparse::Selection> CpuBackend::selection(std::uint32_t rows,
                                                           std::uint32_t positions) {
  static_cast<void>(rows);
  static_cast<void>(positions);
  return Selection();
}

Result<attention::sparse::Selection> CpuBackend::read_selection(const Selection& selection) {
  return selection;
}

Status CpuBackend::write_selection(const attention::sparse::Selection& from, Selection& to) {
  to = from;
  return {};
}

Status CpuBackend::select_keys(PagedCache& cache, PlaneId plane,
                               const attention::sparse::IndexerSpec& spec,
                               std::span<const PagedSegment> segments,
                               const IndexInputs<Tensor>& inputs, Selection& out) {
  check_index_shapes(cache, plane, spec, 1, inputs);
  for (const PagedSegment& segment : segments) {
    append_keys(state_->threads, *state_->index, cache, plane, segment, *inputs.keys);
  }
  out.clear();
  const IndexSelection round = {.operation = "select_keys",
                                .threads = state_->threads,
                                .kernels = *state_->index,
                                .scores = state_->index_scores,
                                .scratch = state_->attention_scratch,
                                .cache = cache,
                                .plane = plane,
                                .spec = spec,
                                .pool = 1,
                                .segments = segments,
                                .inputs = inputs};
  return round.select(
      [&](std::uint32_t, std::span<const std::uint32_t> positions) { out.append_row(positions); });
}

}  // namespace zllm::backend::cpu
