#include <algorithm>
#include <vector>

#include <zllm/backend/cpu/latent_product.h>
#include <zllm/backend/cpu/segment_pages.h>
#include <zllm/backend/cpu/segment_tasks.h>
#include <zllm/backend/cpu/state.h>
#include <zllm/base/text.h>

namespace zllm::backend::cpu {
namespace {

using kernel::cpu::LatentParams;
using kernel::cpu::LatentPlan;
using kernel::cpu::SelectedPositions;

// Appending fewer rows than this is cheaper than waking other threads for it.
constexpr std::size_t kAppendRowsAlone = 16;
// Absorbed queries of rows that are worked on together: 16 MiB, large beside the matrices that
// every chunk of rows reads again, small beside a model.
constexpr std::size_t kChunkFloats = std::size_t{4} << 20;

// The rows of one sequence in a chunk.
struct LatentWork {
  std::vector<std::byte *> pages;  // of the plane
  LatentParams params;
  LatentPlan plan;
  std::size_t first_task = 0;
  std::size_t first_merge = 0;
  std::size_t partials = 0;  // offset in the shared memory
};

struct LatentRound {
  ThreadPool& threads;
  const kernel::cpu::LatentKernels& kernels;
  Buffer<float>& rows;
  Buffer<float>& scratch;
  Buffer<float>& partials;
  PagedCache& cache;
  PlaneId plane;
  const attention::mla::Spec& spec;
  std::span<const PagedSegment> segments;
  std::span<const SelectedPositions> selected;  // of each row; empty: everything

  void append(const LatentInputs<Tensor>& inputs) const;
  Status attend(std::uint32_t first_row, std::uint32_t last_row);

 private:
  std::vector<LatentWork> cut(std::uint32_t first_row, std::uint32_t last_row) const;
  void run(const std::vector<LatentWork>& works, std::size_t scratch_floats) const;
};

void LatentRound::append(const LatentInputs<Tensor>& inputs) const {
  for (const PagedSegment& segment : segments) {
    const std::vector<std::byte *> pages = segment_pages(cache, plane, segment.pages);
    const Tensor *const keys = inputs.shared_keys;
    const kernel::cpu::LatentAppendParams params = {
        .latents = inputs.latents->row(segment.first_row),
        .shared_keys = spec.rope != 0 ? keys->row(segment.first_row) : nullptr,
        .latent_row_stride = spec.latent,
        .key_row_stride = spec.rope,
        .first_position = segment.position,
        .latent = spec.latent,
        .rope = spec.rope,
        .type = cache.kernel_type(),
        .pages = pages.data()};
    if (segment.rows < kAppendRowsAlone) {
      kernels.append(params, 0, segment.rows);
      continue;
    }
    threads.parallel_for(
        segment.rows, kAppendRowsAlone,
        [&](std::uint64_t begin, std::uint64_t end) { kernels.append(params, begin, end); });
  }
}

std::vector<LatentWork> LatentRound::cut(std::uint32_t first_row, std::uint32_t last_row) const {
  const std::size_t width = std::size_t{spec.heads} * (spec.latent + spec.rope);
  std::vector<LatentWork> works;
  for (const PagedSegment& segment : segments) {
    const std::uint32_t begin = std::max(first_row, segment.first_row);
    const std::uint32_t end = std::min(last_row, segment.first_row + segment.rows);
    if (begin >= end) {
      continue;
    }
    LatentWork& work = works.emplace_back();
    work.pages = segment_pages(cache, plane, segment.pages);
    work.params = {.rows = rows.data() + (begin - first_row) * width,
                   .row_count = end - begin,
                   .first_position = segment.position + (begin - segment.first_row),
                   .heads = spec.heads,
                   .latent = spec.latent,
                   .rope = spec.rope,
                   .scale = spec.scale,
                   .type = cache.kernel_type(),
                   .pages = work.pages.data(),
                   .selected = selected.empty() ? nullptr : selected.data() + begin};
    work.plan = kernel::cpu::plan_latent(work.params, threads.threads());
  }
  return works;
}

Status LatentRound::attend(std::uint32_t first_row, std::uint32_t last_row) {
  std::vector<LatentWork> works = cut(first_row, last_row);
  std::size_t tasks = 0;
  std::size_t merges = 0;
  std::size_t partial_floats = 0;
  std::size_t scratch_floats = 0;
  for (LatentWork& work : works) {
    work.first_task = tasks;
    work.first_merge = merges;
    work.partials = partial_floats;
    tasks += work.plan.task_count();
    merges += work.plan.merge_count();
    partial_floats += aligned_floats(work.plan.partial_floats);
    scratch_floats = std::max(scratch_floats, aligned_floats(work.plan.scratch_floats));
  }
  ZLLM_TRY(scratch.grow(scratch_floats * threads.threads()));
  ZLLM_TRY(partials.grow(partial_floats));
  run(works, scratch_floats);
  return {};
}

void LatentRound::run(const std::vector<LatentWork>& works, std::size_t scratch_floats) const {
  if (works.empty()) {
    return;
  }
  const std::size_t tasks = works.back().first_task + works.back().plan.task_count();
  const std::size_t merges = works.back().first_merge + works.back().plan.merge_count();
  threads.parallel_for(tasks, 1, [&](std::uint64_t begin, std::uint64_t end, std::size_t worker) {
    for (std::uint64_t index = begin; index < end; ++index) {
      const LatentWork& work = owner(works, index, &LatentWork::first_task);
      kernels.attention(work.params, work.plan,
                        kernel::cpu::latent_task(work.plan, index - work.first_task),
                        {.scratch = scratch.data() + scratch_floats * worker,
                         .partials = partials.data() + work.partials});
    }
  });
  constexpr std::size_t kMergesAPiece = 4;
  threads.parallel_for(merges, kMergesAPiece, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t index = begin; index < end; ++index) {
      const LatentWork& work = owner(works, index, &LatentWork::first_merge);
      kernels.attention_merge(work.params, work.plan, index - work.first_merge,
                              partials.data() + work.partials);
    }
  });
}

void check_shapes(const PagedCache& cache, PlaneId plane, const attention::mla::Spec& spec,
                  const LatentInputs<Tensor>& inputs, const Tensor& out) {
  ZLLM_CHECK(plane.value() < cache.spec().planes.size(), "attend_latent: no such plane");
  const PlaneSpec& stored = cache.spec().planes[plane.value()];
  ZLLM_CHECK(stored.kind == PlaneKind::latents && stored.width == spec.latent + spec.rope,
             "attend_latent: shape of the plane");
  const Tensor& queries = *inputs.queries;
  ZLLM_CHECK(queries.columns() == spec.heads * (spec.nope + spec.rope),
             "attend_latent: shape of queries");
  ZLLM_CHECK(inputs.latents->rows() == queries.rows() && inputs.latents->columns() == spec.latent,
             "attend_latent: shape of latents");
  ZLLM_CHECK(spec.rope == 0 || (inputs.shared_keys->rows() == queries.rows() &&
                                inputs.shared_keys->columns() == spec.rope),
             "attend_latent: shape of shared keys");
  ZLLM_CHECK(out.rows() == queries.rows() && out.columns() == spec.heads * spec.value,
             "attend_latent: shape of the output");
}

// Appends, then works chunk by chunk; queries become contexts in one memory.
Status run_round(LatentRound round, const LatentProduct& product,
                 const LatentInputs<Tensor>& inputs, Tensor& out) {
  check_shapes(round.cache, round.plane, round.spec, inputs, out);
  round.append(inputs);
  const std::size_t width = std::size_t{round.spec.heads} * (round.spec.latent + round.spec.rope);
  const std::uint32_t rows = inputs.queries->rows();
  const auto chunk = static_cast<std::uint32_t>(
      std::clamp<std::size_t>(kChunkFloats / width, 1, std::max<std::uint32_t>(rows, 1)));
  ZLLM_TRY(round.rows.grow(chunk * width));
  for (std::uint32_t first = 0; first < rows; first += chunk) {
    const std::uint32_t count = std::min(chunk, rows - first);
    ZLLM_TRY(product.absorb(*inputs.queries, first, count, round.rows.data()));
    ZLLM_TRY(round.attend(first, first + count));
    ZLLM_TRY(product.lift(round.rows.data(), first, count, out));
  }
  return {};
}

// Each row's positions, which its query must see.
Result<std::vector<SelectedPositions>> selected_rows(const attention::sparse::Selection& selection,
                                                     std::span<const PagedSegment> segments,
                                                     std::uint32_t rows) {
  ZLLM_CHECK(selection.rows() == rows, "attend_selected: rows of the selection");
  std::vector<SelectedPositions> selected(rows);
  for (const PagedSegment& segment : segments) {
    for (std::uint32_t i = 0; i < segment.rows; ++i) {
      const std::span<const std::uint32_t> positions = selection.row(segment.first_row + i);
      if (!positions.empty() && positions.back() > segment.position + i) {
        return Error{Code::invalid_argument,
                     concat("attend_selected: row ", segment.first_row + i, " at position ",
                            segment.position + i, " selects the later ", positions.back())};
      }
      selected[segment.first_row + i] = {.positions = positions.data(), .count = positions.size()};
    }
  }
  return selected;
}

}  // namespace

Status CpuBackend::attend_latent(PagedCache& cache, PlaneId plane, const attention::mla::Spec& spec,
                                 std::span<const PagedSegment> segments,
                                 const LatentInputs<Tensor>& inputs, const LatentUp& up,
                                 Tensor& out) {
  State& state = *state_;
  return run_round({.threads = state.threads,
                    .kernels = *state.latent,
                    .rows = state.latent_rows,
                    .scratch = state.attention_scratch,
                    .partials = state.attention_partials,
                    .cache = cache,
                    .plane = plane,
                    .spec = spec,
                    .segments = segments,
                    .selected = {}},
                   {.linear = *state.linear,
                    .latent = *state.latent,
                    .threads = state.threads,
                    .decoded = state.decoded_rows,
                    .up = up,
                    .spec = spec},
                   inputs, out);
}

Status CpuBackend::attend_selected(PagedCache& cache, PlaneId plane,
                                   const attention::mla::Spec& spec,
                                   std::span<const PagedSegment> segments,
                                   const Selection& selection, const LatentInputs<Tensor>& inputs,
                                   const LatentUp& up, Tensor& out) {
  ZLLM_TRY(const std::vector<SelectedPositions> selected,
           selected_rows(selection, segments, inputs.queries->rows()));
  State& state = *state_;
  return run_round({.threads = state.threads,
                    .kernels = *state.latent,
                    .rows = state.latent_rows,
                    .scratch = state.attention_scratch,
                    .partials = state.attention_partials,
                    .cache = cache,
                    .plane = plane,
                    .spec = spec,
                    .segments = segments,
                    .selected = selected},
                   {.linear = *state.linear,
                    .latent = *state.latent,
                    .threads = state.threads,
                    .decoded = state.decoded_rows,
                    .up = up,
                    .spec = spec},
                   inputs, out);
}

}  // namespace zllm::backend::cpu
