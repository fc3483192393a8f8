#pragma once

#include <cstdint>

#include <zllm/engine/round_cost.h>

namespace zllm::engine {

// How much longer prompts that are read beside answers may make a round, from what rounds took so
// far. Readers of the answers wait for such rounds; the prompts wait for what is left out of them.
class PromptBudget {
 public:
  // A round with prompts takes at most so many times what its answers take alone: prompts get three
  // fifths of the time, answers keep two fifths of their speed.
  static constexpr double kStretch = 2.5;
  // Faster than anybody reads, so that no round need be shorter.
  static constexpr double kLeastSeconds = 0.03;
  // Longer waits for prompts are seen as stalls.
  static constexpr double kMostPromptSeconds = 0.15;
  // Fewer rows read all weights, and the state so far, for little.
  static constexpr std::uint64_t kLeastRows = 16;
  static constexpr std::uint64_t kFirstRows = 32;  // before a prompt was measured
  static constexpr std::uint64_t kMostRows = 256;  // bounds what a wrong estimate can do

  // A round is over.
  void note(const RoundWork& work, double seconds) { cost_.note(work, seconds); }
  // What prompts may add to a round with so many rows of answers.
  double seconds(std::uint64_t answer_rows) const;
  // What a row of a prompt adds whose state holds `start` rows; 0 when it is not known.
  double row_seconds(std::uint64_t start) const;
  // The most rows of prompts, whatever they add.
  std::uint64_t most_rows() const { return cost_.knows_prompts() ? kMostRows : kFirstRows; }

 private:
  RoundCost cost_;
};

}  // namespace zllm::engine
