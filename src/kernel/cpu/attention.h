#pragma once

#include <cstddef>

#include <zllm/kernel/cpu/kv_page.h>

// Attention of query rows over the pages of one sequence: grouped queries, causal or sliding
// visibility, sinks, soft cap (zllm/attention/gqa/reference.h has the formulas).
//
// Every row is computed alike, whatever else is in the round: keys are cut at absolute multiples
// of kSplitKeys, each split has its own online softmax over its pages in order, and splits are
// merged in order. So a row's bits depend neither on the chunk it came in, nor on the other rows,
// nor on how the work was cut into tasks.
namespace zllm::kernel::cpu {

// Positions of one softmax state: small enough that a few hundred keys keep several threads busy,
// large enough that merging costs below one percent.
constexpr std::size_t kSplitKeys = 256;
static_assert(kSplitKeys % kPageTokens == 0);

struct AttentionParams {
  const float *queries = nullptr;  // [rows][query_heads][head], rotated; heads of a row contiguous
  float *output = nullptr;         // [rows][query_heads][head]
  std::size_t query_row_stride = 0;  // floats
  std::size_t output_row_stride = 0;
  std::size_t rows = 0;  // at consecutive positions, at least 1
  std::size_t first_position = 0;
  std::size_t query_heads = 0;  // a multiple of kv_heads
  std::size_t kv_heads = 0;
  std::size_t head = 0;
  std::size_t window = 0;  // the row at p sees j <= p with j + window > p; 0: all j <= p
  float scale = 1.0F;
  float softcap = 0.0F;          // 0: none
  const float *sinks = nullptr;  // [query_heads] or null
  KvType type = KvType::f32;
  // [position / kPageTokens], of this layer. Pages before the first row's window are not read and
  // may be null. The rows' own keys and values have been appended.
  const std::byte *const *pages = nullptr;
};

// A kv head with its group of query heads, for some rows, over some splits. split_count 0 means
// all splits, merged, written to the output: no partials, no merge.
struct AttentionTask {
  std::size_t kv_head = 0;
  std::size_t first_row = 0;
  std::size_t row_count = 0;
  std::size_t first_split = 0;  // absolute: position / kSplitKeys
  std::size_t split_count = 0;
};

// How the rows of one AttentionParams are cut into tasks. Tasks are numbered from 0 to task_count()
// and may run in any order on any thread. When split() is true their results are partial states,
// and after all tasks of a block have run, attention_merge writes that block's output.
struct AttentionPlan {
  std::size_t kv_heads = 0;
  std::size_t rows = 0;
  std::size_t block_rows = 0;  // rows of one task
  std::size_t blocks = 0;
  std::size_t first_split = 0;  // first one visible from any row
  std::size_t splits = 0;
  std::size_t task_splits = 0;  // splits of one task, 0: all, merged at once
  std::size_t split_groups = 1;
  std::size_t partial_floats = 0;  // memory that attention_partial and attention_merge share
  std::size_t scratch_floats = 0;  // memory that each thread needs alone

  bool split() const { return task_splits != 0; }
  std::size_t task_count() const { return kv_heads * blocks * split_groups; }
  std::size_t merge_count() const { return split() ? kv_heads * blocks : 0; }
};

// The plan for a number of threads. It affects speed alone, never the result.
AttentionPlan plan_attention(const AttentionParams& params, std::size_t threads);
AttentionTask attention_task(const AttentionPlan& plan, std::size_t index);
// The block that merge number `index` completes: all of its splits.
AttentionTask attention_merge_task(const AttentionPlan& plan, std::size_t index);

// Memory of a task, aligned to kPageAlignment.
struct AttentionMemory {
  float *scratch = nullptr;   // scratch_floats, of this thread
  float *partials = nullptr;  // partial_floats, of this params; null unless the plan splits
};

// One instruction set's instance. Functions are thread-safe on disjoint tasks.
struct AttentionKernels {
  // Kv heads [first_head, last_head).
  void (*kv_append)(const KvAppendParams& params, std::size_t first_head, std::size_t last_head);
  // Writes the output when the task has all splits (split_count 0), else partial states.
  void (*attention)(const AttentionParams& params, const AttentionPlan& plan,
                    const AttentionTask& task, const AttentionMemory& memory);
  void (*attention_merge)(const AttentionParams& params, const AttentionPlan& plan,
                          const AttentionTask& task, const AttentionMemory& memory);
};

}  // namespace zllm::kernel::cpu
