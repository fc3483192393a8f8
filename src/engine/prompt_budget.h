#pragma once

#include <cstdint>

namespace zllm::engine {

// How many rows of prompts a round may have beside answers so that these wait for them about
// kPromptSeconds, from what rounds took so far.
class PromptBudget {
 public:
  // Longer gaps between tokens are seen as stalls; much shorter ones make prompts slow.
  static constexpr double kPromptSeconds = 0.15;
  // A round of few rows reads all weights for little.
  static constexpr std::uint64_t kLeastRows = 32;
  static constexpr std::uint64_t kMostRows = 512;
  static constexpr std::uint64_t kFirstRows = 128;  // before anything was measured

  // A round is over that had so many rows.
  void note(std::uint64_t answer_rows, std::uint64_t prompt_rows, double seconds);
  std::uint64_t rows() const;

 private:
  double answer_seconds_ = 0;  // of a round without prompts
  double row_seconds_ = 0;     // that a row of a prompt adds; 0 = not known
};

}  // namespace zllm::engine
