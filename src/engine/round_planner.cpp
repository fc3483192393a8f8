#include <zllm/engine/round_planner.h>

#include <algorithm>
#include <tuple>

namespace zllm::engine {
namespace {

std::vector<std::size_t> answers_in_order(std::span<const PendingRows> pending) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < pending.size(); ++i) {
    if (pending[i].kind == PendingRows::Kind::answer) {
      order.push_back(i);
    }
  }
  std::ranges::sort(order, {}, [&](std::size_t i) {
    return std::tuple(pending[i].rows > 1, pending[i].last_round, i);
  });
  return order;
}

// Rows of a part of a prompt that may have at most `budget`; 0 where it had better wait.
std::uint64_t part_of_prompt(const PendingRows& prompt, std::uint64_t budget, std::uint64_t anchor,
                             bool must_go_on) {
  std::uint64_t rows = std::min(prompt.rows, budget);
  if (prompt.most != 0) {
    rows = std::min(rows, prompt.most);
  }
  std::uint64_t end = prompt.start + rows;
  if (prompt.start < prompt.cut && prompt.cut < end) {
    end = prompt.cut;
  }
  const bool is_whole = end == prompt.start + prompt.rows || end == prompt.cut;
  if (anchor == 0 || is_whole) {
    return end - prompt.start;
  }
  const std::uint64_t anchored = end - end % anchor;
  if (anchored > prompt.start) {
    return anchored - prompt.start;
  }
  return must_go_on ? end - prompt.start : 0;
}

}  // namespace

std::vector<PlannedRows> plan_round(std::span<const PendingRows> pending,
                                    const PlanLimits& limits) {
  std::vector<PlannedRows> plan;
  std::uint64_t left = limits.rows;
  const auto add = [&](std::size_t index, std::uint64_t rows) {
    plan.push_back({.index = index, .rows = rows});
    left -= rows;
  };
  for (const std::size_t i : answers_in_order(pending)) {
    if (left == 0 || plan.size() == limits.sequences) {
      break;
    }
    add(i, std::min(pending[i].rows, left));
  }
  std::uint64_t budget = plan.empty() ? left : std::min(left, limits.prompt_rows);
  const bool reaches_anchors = budget >= limits.anchor;
  for (std::size_t i = 0; i < pending.size(); ++i) {
    if (pending[i].kind != PendingRows::Kind::prompt) {
      continue;
    }
    if (budget == 0 || plan.size() == limits.sequences) {
      break;
    }
    const std::uint64_t rows = part_of_prompt(pending[i], budget, limits.anchor, !reaches_anchors);
    if (rows != 0) {
      add(i, rows);
      budget -= rows;
    }
  }
  return plan;
}

}  // namespace zllm::engine
