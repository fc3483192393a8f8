#pragma once

#include <array>
#include <cstdint>

namespace zllm::engine {

// What makes a round long.
struct RoundWork {
  std::uint64_t answer_rows = 0;
  std::uint64_t prompt_rows = 0;
  std::uint64_t prompt_positions = 0;  // that the rows of prompts attend to, all together
};

// What rounds take, learned from those that ran: something in any case, and more for each row of an
// answer, for each row of a prompt and for each position that such a row attends to (normalised
// least mean squares: Haykin, Adaptive Filter Theory).
class RoundCost {
 public:
  // A round is over.
  void note(const RoundWork& work, double seconds);
  // What a round is expected to take.
  double seconds(const RoundWork& work) const;
  // Whether rounds with parts of prompts were seen.
  bool knows_prompts() const { return knows_prompts_; }

 private:
  std::array<double, 4> parts_ = {};
  bool knows_prompts_ = false;
};

}  // namespace zllm::engine
