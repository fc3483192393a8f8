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

std::vector<std::size_t> prompts_in_order(std::span<const PendingRows> pending,
                                          bool prefers_short) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < pending.size(); ++i) {
    if (pending[i].kind == PendingRows::Kind::prompt) {
      order.push_back(i);
    }
  }
  if (prefers_short) {
    std::ranges::sort(order, {}, [&](std::size_t i) {
      return std::tuple(-std::int64_t{pending[i].priority}, pending[i].rows, i);
    });
  }
  return order;
}

// Rows of prompts that a round still has room for.
class PromptRoom {
 public:
  PromptRoom(const PlanLimits& limits, std::uint64_t left)
      : limits_(limits),
        rows_(std::min(left, limits.prompt_rows)),
        seconds_(limits.prompt_seconds),
        reaches_anchors_(rows_ >= limits.anchor) {}

  bool is_full() const { return rows_ == 0; }

  // How many of a prompt's rows come into the round; 0 where it had better wait.
  std::uint64_t take(const PendingRows& prompt) {
    const std::uint64_t rows = part_of(prompt, rows_for(prompt));
    rows_ -= rows;
    seconds_ -= prompt.row_seconds * static_cast<double>(rows);
    is_first_ = is_first_ && rows == 0;
    return rows;
  }

 private:
  std::uint64_t rows_for(const PendingRows& prompt) const {
    if (limits_.prompt_seconds <= 0 || prompt.row_seconds <= 0) {
      return rows_;
    }
    const double rows = std::max(seconds_ / prompt.row_seconds, 0.0);
    const std::uint64_t least = is_first_ ? limits_.least_rows : 0;
    return rows >= static_cast<double>(rows_)
               ? rows_
               : std::min(rows_, std::max(least, static_cast<std::uint64_t>(rows)));
  }

  std::uint64_t part_of(const PendingRows& prompt, std::uint64_t room) const {
    std::uint64_t rows = std::min(prompt.rows, room);
    if (prompt.most != 0) {
      rows = std::min(rows, prompt.most);
    }
    std::uint64_t end = prompt.start + rows;
    if (prompt.start < prompt.cut && prompt.cut < end) {
      end = prompt.cut;
    }
    const bool is_whole = end == prompt.start + prompt.rows || end == prompt.cut;
    if (limits_.anchor == 0 || is_whole) {
      return end - prompt.start;
    }
    const std::uint64_t anchored = end - end % limits_.anchor;
    if (anchored > prompt.start) {
      return anchored - prompt.start;
    }
    return reaches_anchors_ ? 0 : end - prompt.start;
  }

  const PlanLimits& limits_;
  std::uint64_t rows_;
  double seconds_;
  bool reaches_anchors_;
  bool is_first_ = true;
};

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
  PromptRoom room(limits, left);
  for (const std::size_t i : prompts_in_order(pending, limits.prefers_short)) {
    if (room.is_full() || plan.size() == limits.sequences) {
      break;
    }
    const std::uint64_t rows = room.take(pending[i]);
    if (rows != 0) {
      add(i, rows);
    }
  }
  return plan;
}

}  // namespace zllm::engine
