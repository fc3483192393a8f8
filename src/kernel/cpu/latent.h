#pragma once

#include <cstddef>
#include <cstdint>

#include <zllm/encoding/encoding.h>
#include <zllm/kernel/cpu/attention.h>
#include <zllm/kernel/cpu/latent_page.h>

// Latent attention in the absorbed form (zllm/attention/mla/reference.h): all heads of a row meet
// the same rows of a page, which serve as keys in their whole width and as values in the latent's.
//
// Keys are taken in groups of kPageTokens and cut at multiples of kSplitKeys, both counted by the
// position or, with a selection, by the index in it. Each split has its own online softmax; the
// splits of a span of kSpanSplits are merged in order, then the spans are. So a row's bits depend
// neither on other rows nor on how the work was cut into tasks, and a selection of every position
// gives the bits of no selection.
namespace zllm::kernel::cpu {

// A task of whole spans leaves a state for each of them instead of each split, so that the states
// of a long sequence stay small beside its keys.
constexpr std::size_t kSpanSplits = 8;

// Stores rows [latent | shared key] of one sequence at consecutive positions.
struct LatentAppendParams {
  const float *latents = nullptr;      // [rows][latent]
  const float *shared_keys = nullptr;  // [rows][rope]; unused where rope is 0
  std::size_t latent_row_stride = 0;   // floats
  std::size_t key_row_stride = 0;
  std::size_t first_position = 0;
  std::size_t latent = 0;
  std::size_t rope = 0;
  KvType type = KvType::f32;
  std::byte *const *pages = nullptr;  // [position / kPageTokens], of this plane
};

// output[row][c] = sum over n of activations[row][n] * weights[n][c], in ascending n. The encoding
// is F32, F16 or BF16; weights may lie at any address.
struct TransposedProduct {
  encoding::Encoding encoding = encoding::Encoding::f32;
  const std::byte *weights = nullptr;  // [matrix_rows][columns]
  std::size_t matrix_rows = 0;
  std::size_t columns = 0;
  const float *activations = nullptr;
  std::size_t activation_rows = 0;
  std::size_t activation_stride = 0;
  float *output = nullptr;
  std::size_t output_stride = 0;
  bool accumulate = false;  // goes on from the sums that are there
};

// Ascending positions that a row attends to.
struct SelectedPositions {
  const std::uint32_t *positions = nullptr;
  std::size_t count = 0;
};

struct LatentParams {
  // [rows][heads][latent + rope]: absorbed queries, whose first `latent` lanes become the contexts.
  float *rows = nullptr;
  std::size_t row_count = 0;  // at consecutive positions, at least 1
  std::size_t first_position = 0;
  std::size_t heads = 0;
  std::size_t latent = 0;
  std::size_t rope = 0;
  float scale = 1.0F;
  KvType type = KvType::f32;
  const std::byte *const *pages = nullptr;      // the rows' own latents have been appended
  const SelectedPositions *selected = nullptr;  // [row_count]; null: every position j <= p
};

// Heads of rows over splits. split_count 0 means all splits, merged, written over the queries.
struct LatentTask {
  std::size_t first_row = 0;
  std::size_t row_count = 0;
  std::size_t first_head = 0;
  std::size_t head_count = 0;
  std::size_t first_split = 0;
  std::size_t split_count = 0;
};

// How the rows of one LatentParams are cut into tasks, which may run in any order on any thread.
// When split() is true they leave partial states, and after all of them latent_merge writes the
// contexts, one row and head a call.
struct LatentPlan {
  std::size_t rows = 0;
  std::size_t heads = 0;
  std::size_t block_rows = 0;
  std::size_t blocks = 0;
  std::size_t block_heads = 0;
  std::size_t head_blocks = 0;
  std::size_t splits = 0;        // of the row with the most keys
  std::size_t task_splits = 0;   // splits of one task, 0: all, merged at once
  std::size_t state_splits = 1;  // splits of one partial state, 1 or kSpanSplits
  std::size_t split_groups = 1;
  std::size_t partial_floats = 0;  // memory that all tasks share
  std::size_t scratch_floats = 0;  // memory that each thread needs alone

  bool split() const { return task_splits != 0; }
  std::size_t task_count() const { return blocks * head_blocks * split_groups; }
  std::size_t merge_count() const { return split() ? rows * heads : 0; }
  // Partial states of one row and head.
  std::size_t states() const { return (splits + state_splits - 1) / state_splits; }
};

std::size_t visible_keys(const LatentParams& params, std::size_t row);
// The plan for a number of threads. It affects speed alone, never the result.
LatentPlan plan_latent(const LatentParams& params, std::size_t threads);
LatentTask latent_task(const LatentPlan& plan, std::size_t index);

// One instruction set's instance. Functions are thread-safe on disjoint work.
struct LatentKernels {
  // Rows [first_row, last_row).
  void (*append)(const LatentAppendParams& params, std::size_t first_row, std::size_t last_row);
  void (*multiply_transposed)(const TransposedProduct& params);
  // encoding::decode() of whole blocks for common formats; false, and nothing done, for others.
  bool (*decode)(encoding::Encoding encoding, const std::byte *blocks, std::size_t elements,
                 float *to);
  void (*attention)(const LatentParams& params, const LatentPlan& plan, const LatentTask& task,
                    const AttentionMemory& memory);
  void (*attention_merge)(const LatentParams& params, const LatentPlan& plan, std::size_t index,
                          float *partials);
};

}  // namespace zllm::kernel::cpu
