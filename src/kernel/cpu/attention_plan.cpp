#include <algorithm>

#include <zllm/kernel/cpu/attention.h>

namespace zllm::kernel::cpu {
namespace {

// A block's queries and states for a group of query heads stay in the second-level cache while a
// page of keys and values, in the first level, serves all of them.
constexpr std::size_t kBlockQueryRows = 96;
// Fewer tasks than this a thread and one late thread is felt.
constexpr std::size_t kTasksPerThread = 4;

std::size_t divide_up(std::size_t a, std::size_t b) { return (a + b - 1) / b; }

std::size_t line_floats(std::size_t count) { return divide_up(count, 16) * 16; }

// Layout of a thread's scratch: see Block in attention-inl.h.
std::size_t block_floats(const AttentionParams& params, std::size_t block_rows) {
  const std::size_t query_rows = block_rows * (params.query_heads / params.kv_heads);
  const std::size_t padded = kv_value_stride(params.head);
  return line_floats(query_rows * params.head) + 2 * query_rows * padded +
         2 * line_floats(query_rows + 16) + query_rows * 16 + line_floats(query_rows) +
         kv_head_elements(params.head);
}

}  // namespace

AttentionPlan plan_attention(const AttentionParams& params, std::size_t threads) {
  const std::size_t group = params.query_heads / params.kv_heads;
  const std::size_t last = params.first_position + params.rows - 1;
  const bool all = params.window == 0 || params.window > params.first_position;
  const std::size_t first = all ? 0 : params.first_position + 1 - params.window;

  AttentionPlan plan;
  plan.kv_heads = params.kv_heads;
  plan.rows = params.rows;
  plan.first_split = first / kSplitKeys;
  plan.splits = last / kSplitKeys - plan.first_split + 1;
  const std::size_t wanted = threads > 1 ? threads * kTasksPerThread : 1;
  const std::size_t largest = std::max<std::size_t>(kBlockQueryRows / group, 1);
  // Blocks of at least a tile of rows: a page loaded for fewer rows costs more than it spreads.
  const std::size_t smallest = std::max<std::size_t>(largest / 4, 1);
  const std::size_t spread = divide_up(params.rows * params.kv_heads, wanted);
  plan.block_rows = std::min(params.rows, std::clamp(spread, smallest, largest));
  plan.blocks = divide_up(params.rows, plan.block_rows);
  const std::size_t tasks = plan.kv_heads * plan.blocks;
  if (threads > 1 && tasks < wanted && plan.splits > 1) {
    plan.split_groups = std::min(plan.splits, divide_up(wanted, tasks));
    plan.task_splits = divide_up(plan.splits, plan.split_groups);
    plan.split_groups = divide_up(plan.splits, plan.task_splits);
    plan.partial_floats =
        params.rows * params.query_heads * plan.splits * (kv_value_stride(params.head) + 16);
  }
  plan.scratch_floats = block_floats(params, plan.block_rows);
  return plan;
}

AttentionTask attention_task(const AttentionPlan& plan, std::size_t index) {
  const std::size_t group = index % plan.split_groups;
  AttentionTask task = attention_merge_task(plan, index / plan.split_groups);
  if (!plan.split()) {
    task.split_count = 0;
    return task;
  }
  task.first_split = plan.first_split + group * plan.task_splits;
  task.split_count = std::min(plan.task_splits, plan.first_split + plan.splits - task.first_split);
  return task;
}

AttentionTask attention_merge_task(const AttentionPlan& plan, std::size_t index) {
  AttentionTask task;
  task.kv_head = index % plan.kv_heads;
  // Later rows see more keys: the longest tasks start first.
  const std::size_t block = plan.blocks - 1 - index / plan.kv_heads;
  task.first_row = block * plan.block_rows;
  task.row_count = std::min(plan.block_rows, plan.rows - task.first_row);
  task.first_split = plan.first_split;
  task.split_count = plan.splits;
  return task;
}

}  // namespace zllm::kernel::cpu
