#include <algorithm>
#include <vector>

#include <zllm/backend/cpu/segment_pages.h>
#include <zllm/backend/cpu/segment_tasks.h>
#include <zllm/backend/cpu/state.h>

namespace zllm::backend::cpu {
namespace {

using kernel::cpu::AttentionParams;
using kernel::cpu::AttentionPlan;
using kernel::cpu::KvAppendParams;

// Appending fewer rows than this is cheaper than waking other threads for it.
constexpr std::size_t kAppendRowsAlone = 4;

// One sequence's part of an attend().
struct SegmentWork {
  std::vector<std::byte *> pages;  // of the plane
  AttentionParams params;
  AttentionPlan plan;
  std::size_t first_task = 0;
  std::size_t first_merge = 0;
  std::size_t partials = 0;  // offset in the shared memory
};

// All but the pages.
AttentionParams attention_params(const attention::gqa::Spec& spec, const PagedSegment& segment,
                                 kernel::cpu::KvType type, const Tensor& queries, Tensor& out) {
  return {.queries = queries.row(segment.first_row),
          .output = out.row(segment.first_row),
          .query_row_stride = queries.columns(),
          .output_row_stride = out.columns(),
          .rows = segment.rows,
          .first_position = segment.position,
          .query_heads = spec.query_heads,
          .kv_heads = spec.kv_heads,
          .head = spec.head,
          .window = spec.window,
          .scale = spec.scale,
          .softcap = spec.softcap,
          .sinks = nullptr,
          .type = type};
}

void append_rows(ThreadPool& threads, const kernel::cpu::AttentionKernels& kernels,
                 const KvAppendParams& params) {
  if (params.rows < kAppendRowsAlone) {
    kernels.kv_append(params, 0, params.kv_heads);
    return;
  }
  threads.parallel_for(params.kv_heads, 1, [&](std::uint64_t begin, std::uint64_t end) {
    kernels.kv_append(params, begin, end);
  });
}

}  // namespace

Status CpuBackend::attend(PagedCache& cache, PlaneId plane, const attention::gqa::Spec& spec,
                          std::span<const PagedSegment> segments, const Tensor& queries,
                          const Tensor& keys, const Tensor& values, Tensor& out) {
  ThreadPool& threads = state_->threads;
  std::vector<SegmentWork> works(segments.size());
  std::size_t tasks = 0;
  std::size_t merges = 0;
  std::size_t partials = 0;  // floats
  std::size_t scratch = 0;   // floats of one thread
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const PagedSegment& segment = segments[i];
    SegmentWork& work = works[i];
    work.pages = segment_pages(cache, plane, segment.pages);
    work.params = attention_params(spec, segment, cache.kernel_type(), queries, out);
    work.params.pages = work.pages.data();
    work.plan = kernel::cpu::plan_attention(work.params, threads.threads());
    work.first_task = tasks;
    work.first_merge = merges;
    work.partials = partials;
    tasks += work.plan.task_count();
    merges += work.plan.merge_count();
    partials += aligned_floats(work.plan.split() ? work.plan.partial_floats : 0);
    scratch = std::max(scratch, aligned_floats(work.plan.scratch_floats));
  }
  ZLLM_TRY(state_->attention_scratch.grow(scratch * threads.threads()));
  ZLLM_TRY(state_->attention_partials.grow(partials));

  const auto& kernels = *state_->attention;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const PagedSegment& segment = segments[i];
    append_rows(threads, kernels,
                {.keys = keys.row(segment.first_row),
                 .values = values.row(segment.first_row),
                 .key_row_stride = keys.columns(),
                 .value_row_stride = values.columns(),
                 .rows = segment.rows,
                 .first_position = segment.position,
                 .kv_heads = spec.kv_heads,
                 .head = spec.head,
                 .type = cache.kernel_type(),
                 .pages = works[i].pages.data()});
  }
  threads.parallel_for(tasks, 1, [&](std::uint64_t begin, std::uint64_t end, std::size_t worker) {
    for (std::uint64_t index = begin; index < end; ++index) {
      const SegmentWork& work = owner(works, index, &SegmentWork::first_task);
      kernels.attention(work.params, work.plan,
                        kernel::cpu::attention_task(work.plan, index - work.first_task),
                        {.scratch = state_->attention_scratch.data() + scratch * worker,
                         .partials = state_->attention_partials.data() + work.partials});
    }
  });
  threads.parallel_for(merges, 1, [&](std::uint64_t begin, std::uint64_t end, std::size_t worker) {
    for (std::uint64_t index = begin; index < end; ++index) {
      const SegmentWork& work = owner(works, index, &SegmentWork::first_merge);
      kernels.attention_merge(
          work.params, work.plan,
          kernel::cpu::attention_merge_task(work.plan, index - work.first_merge),
          {.scratch = state_->attention_scratch.data() + scratch * worker,
           .partials = state_->attention_partials.data() + work.partials});
    }
  });
  return {};
}

}  // namespace zllm::backend::cpu
