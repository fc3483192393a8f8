#pragma once

#include <cstdint>

#include <zllm/engine/round_cost.h>

namespace zllm::engine {

// How much of a round prompts may take, from what rounds took so far. Readers of running answers
// wait for such rounds, and so does whoever comes or leaves meanwhile; the prompts wait for what is
// left out of them.
class PromptBudget {
 public:
  // A round with prompts takes at most so many times what its answers take alone: prompts get three
  // fifths of the time, answers keep two fifths of their speed.
  static constexpr double kStretch = 2.5;
  // Faster than anybody reads, so that no round need be shorter.
  static constexpr double kLeastSeconds = 0.03;
  // Longer waits for prompts are seen as stalls.
  static constexpr double kMostPromptSeconds = 0.15;
  // Of a round without answers: newcomers and cancelled prompts wait for it, nobody reads.
  static constexpr double kLoneSeconds = 0.5;
  // Fewer rows read all weights, and the state so far, for little.
  static constexpr std::uint64_t kLeastRows = 16;
  static constexpr std::uint64_t kLeastLoneRows = 64;
  // Before a prompt was measured.
  static constexpr std::uint64_t kFirstRows = 32;
  static constexpr std::uint64_t kFirstLoneRows = 128;
  static constexpr std::uint64_t kMostRows = 256;  // bounds what a wrong estimate can do

  // For the prompts of one round.
  struct Share {
    double seconds = 0;            // that they may add
    std::uint64_t least_rows = 0;  // of the first of them, whatever they add
    std::uint64_t most_rows = 0;   // of all
  };

  // A round is over.
  void note(const RoundWork& work, double seconds) { cost_.note(work, seconds); }
  // Of a round with so many rows of answers, and of all kinds at most `rows`.
  Share share(std::uint64_t answer_rows, std::uint64_t rows) const;
  // What a row of a prompt adds whose state holds `start` rows; 0 when it is not known.
  double row_seconds(std::uint64_t start) const;

 private:
  RoundCost cost_;
};

}  // namespace zllm::engine
