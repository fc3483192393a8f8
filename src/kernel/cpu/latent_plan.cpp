#include <algorithm>

#include <zllm/kernel/cpu/latent.h>

namespace zllm::kernel::cpu {
namespace {

// Pairs of row and head in one task: their queries and states stay in the second-level cache while
// groups of keys pass by.
constexpr std::size_t kBlockPairs = 128;
// Two of the widest vectors of pairs: products with fewer wait for the keys' broadcasts.
constexpr std::size_t kFewestHeads = 32;
// Fewer tasks than this a thread and one late thread is felt.
constexpr std::size_t kTasksPerThread = 4;

std::size_t divide_up(std::size_t a, std::size_t b) { return (a + b - 1) / b; }

std::size_t line_floats(std::size_t count) { return divide_up(count, 16) * 16; }

// Layout of a thread's scratch: LatentBlock in latent_attention-inl.h.
std::size_t block_floats(const LatentParams& params, std::size_t pairs) {
  const std::size_t padded = line_floats(pairs);
  const std::size_t width = params.latent + params.rope;
  return padded * width + 3 * pairs * latent_stride(params.latent) + 8 * padded +
         kPageTokens * padded + kPageTokens * latent_stride(width);
}

}  // namespace

std::size_t visible_keys(const LatentParams& params, std::size_t row) {
  return params.selected != nullptr ? params.selected[row].count : params.first_position + row + 1;
}

LatentPlan plan_latent(const LatentParams& params, std::size_t threads) {
  std::size_t most_keys = 0;
  for (std::size_t row = 0; row < params.row_count; ++row) {
    most_keys = std::max(most_keys, visible_keys(params, row));
  }
  LatentPlan plan;
  plan.rows = params.row_count;
  plan.heads = params.heads;
  plan.splits = divide_up(most_keys, kSplitKeys);
  plan.block_heads = std::min(params.heads, kBlockPairs);
  const std::size_t wanted = threads > 1 ? threads * kTasksPerThread : 1;
  // Rows of a selection share no keys.
  const std::size_t largest = params.selected != nullptr ? 1 : kBlockPairs / plan.block_heads;
  plan.block_rows = std::clamp<std::size_t>(params.row_count / wanted, 1, largest);
  plan.blocks = divide_up(plan.rows, plan.block_rows);
  // Splits first: every block of heads reads and widens the keys again.
  const std::size_t split_groups = std::clamp<std::size_t>(divide_up(wanted, plan.blocks), 1,
                                                           std::max<std::size_t>(plan.splits, 1));
  const std::size_t tasks = plan.blocks * split_groups;
  if (tasks < wanted && plan.block_heads > kFewestHeads) {
    const std::size_t cuts = std::min(divide_up(wanted, tasks), plan.block_heads / kFewestHeads);
    plan.block_heads = divide_up(plan.block_heads, cuts);
  }
  plan.head_blocks = divide_up(plan.heads, plan.block_heads);
  if (split_groups > 1) {
    plan.task_splits = divide_up(plan.splits, split_groups);
    if (plan.task_splits >= kSpanSplits) {
      plan.task_splits = plan.task_splits / kSpanSplits * kSpanSplits;
      plan.state_splits = kSpanSplits;
    }
    plan.split_groups = divide_up(plan.splits, plan.task_splits);
    plan.partial_floats =
        plan.rows * plan.heads * plan.states() * (latent_stride(params.latent) + 16);
  }
  plan.scratch_floats = block_floats(params, plan.block_rows * plan.block_heads);
  return plan;
}

LatentTask latent_task(const LatentPlan& plan, std::size_t index) {
  const std::size_t group = index % plan.split_groups;
  index /= plan.split_groups;
  LatentTask task;
  task.first_head = index % plan.head_blocks * plan.block_heads;
  task.head_count = std::min(plan.block_heads, plan.heads - task.first_head);
  // Later rows see more keys: the longest tasks start first.
  const std::size_t block = plan.blocks - 1 - index / plan.head_blocks;
  task.first_row = block * plan.block_rows;
  task.row_count = std::min(plan.block_rows, plan.rows - task.first_row);
  if (plan.split()) {
    task.first_split = group * plan.task_splits;
    task.split_count = std::min(plan.task_splits, plan.splits - task.first_split);
  }
  return task;
}

}  // namespace zllm::kernel::cpu
