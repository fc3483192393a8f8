#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace zllm::engine {

// A sequence that could have rows in the next round.
struct PendingRows {
  enum class Kind : std::uint8_t {
    answer,  // the token that was chosen last, or a run of forced ones
    prompt,  // what the state must hold before a token can be chosen
  };

  Kind kind = Kind::answer;
  std::uint64_t start = 0;       // rows that the state holds
  std::uint64_t rows = 0;        // that it lacks, at least 1
  std::uint64_t most = 0;        // rows of one round at most; 0 = no matter
  std::uint64_t cut = 0;         // a round of a prompt that passes this row ends at it
  std::uint64_t last_round = 0;  // in which the sequence had rows
  double row_seconds = 0;        // that a row of a prompt adds to a round; 0 = not known
  std::int32_t priority = 0;     // prompts are pending in its order, the highest first
};

struct PlanLimits {
  std::uint64_t rows = 0;     // of a round
  std::size_t sequences = 0;  // of a round
  // Rows of prompts, and what these may add to a round; 0 seconds = no matter. The first prompt has
  // least_rows all the same.
  std::uint64_t prompt_rows = 0;
  double prompt_seconds = 0;
  std::uint64_t least_rows = 0;
  std::uint64_t anchor = 0;    // rounds of prompts end at multiples of it; 0 = anywhere
  bool prefers_short = false;  // of prompts of one priority, those that lack least go first
};

struct PlannedRows {
  std::size_t index = 0;  // among the pending
  std::uint64_t rows = 0;
};

// The rows of the next round: first single rows of answers, then runs of forced tokens, then parts
// of prompts in the order given, or the short ones first. Of answers that do not all fit, those
// that waited longest go first. Not empty unless nothing is pending.
std::vector<PlannedRows> plan_round(std::span<const PendingRows> pending, const PlanLimits& limits);

}  // namespace zllm::engine
