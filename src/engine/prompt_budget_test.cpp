#include <gtest/gtest.h>

#include <algorithm>

#include <zllm/engine/prompt_budget.h>

namespace zllm::engine {
namespace {

struct Machine {
  double round = 0.005;
  double answer = 0.0012;
  double row = 0.0007;
  double position = 0;

  double seconds(const RoundWork& work) const {
    return round + answer * static_cast<double>(work.answer_rows) +
           row * static_cast<double>(work.prompt_rows) +
           position * static_cast<double>(work.prompt_positions);
  }
};

// Rows of one prompt in a round.
std::uint64_t rows(const PromptBudget& budget, std::uint64_t answers, std::uint64_t start) {
  const PromptBudget::Share share = budget.share(answers, 512);
  const double row = budget.row_seconds(start);
  const double fit = row == 0 ? 1e9 : share.seconds / row;
  return std::min(share.most_rows, std::max(share.least_rows, static_cast<std::uint64_t>(fit)));
}

// The longest of the last rounds of many in which one prompt after another is read.
double longest_round(PromptBudget& budget, const Machine& machine, std::uint64_t answers) {
  double longest = 0;
  std::uint64_t start = 0;
  for (int i = 0; i < 600; ++i) {
    RoundWork work{.answer_rows = answers};
    if (i % 3 != 0) {
      work.prompt_rows = rows(budget, answers, start);
      work.prompt_positions = work.prompt_rows * (start + work.prompt_rows / 2);
      start = (start + work.prompt_rows) % 2000;
    }
    budget.note(work, machine.seconds(work));
    longest = i < 300 ? 0 : std::max(longest, machine.seconds(work));
  }
  return longest;
}

TEST(PromptBudget, StretchesRoundsOfAnswersByAFactor) {
  for (const double position : {0.0, 4e-7}) {
    const Machine machine{.position = position};
    for (const std::uint64_t answers : {std::uint64_t{8}, std::uint64_t{16}}) {
      PromptBudget budget;
      const double alone = machine.seconds({.answer_rows = answers});
      const double longest = longest_round(budget, machine, answers);
      EXPECT_LT(longest, 1.15 * PromptBudget::kStretch * alone);
      EXPECT_GT(longest, 0.85 * PromptBudget::kStretch * alone);
    }
  }
}

TEST(PromptBudget, LetsShortRoundsBecomeWhatNobodyNotices) {
  PromptBudget budget;
  EXPECT_NEAR(longest_round(budget, {}, 1), PromptBudget::kLeastSeconds, 0.003);
}

TEST(PromptBudget, BoundsWhatPromptsAddToLongRounds) {
  const Machine slow{.round = 0.5, .answer = 0.01, .row = 0.003};
  PromptBudget budget;
  const double alone = slow.seconds({.answer_rows = 4});
  EXPECT_NEAR(longest_round(budget, slow, 4), alone + PromptBudget::kMostPromptSeconds, 0.02);
}

TEST(PromptBudget, BoundsRoundsOfLonePrompts) {
  const Machine slow{.row = 0.002, .position = 4e-7};
  PromptBudget budget;
  EXPECT_NEAR(longest_round(budget, slow, 0), PromptBudget::kLoneSeconds, 0.03);
  // Not below what reads the weights often, nor by what each round takes.
  const Machine large{.round = 1, .row = 0.05};
  PromptBudget patient;
  EXPECT_NEAR(longest_round(patient, large, 0), 1 + 0.05 * PromptBudget::kLeastLoneRows, 0.01);
  // A small model's prompt has the whole round.
  PromptBudget fast;
  fast.note({.prompt_rows = 128, .prompt_positions = 128 * 64}, 0.01);
  EXPECT_EQ(rows(fast, 0, 0), 512u);
}

TEST(PromptBudget, StartsSmallAndKeepsRowsWithinBounds) {
  PromptBudget budget;
  EXPECT_EQ(rows(budget, 1, 0), PromptBudget::kFirstRows);
  EXPECT_EQ(rows(budget, 0, 0), PromptBudget::kFirstLoneRows);
  budget.note({.answer_rows = 1}, 0.005);
  EXPECT_EQ(rows(budget, 1, 0), PromptBudget::kFirstRows);
  budget.note({.prompt_rows = 512, .prompt_positions = 512 * 256}, 100.0);
  EXPECT_EQ(rows(budget, 1, 0), PromptBudget::kLeastRows);
  EXPECT_EQ(rows(budget, 0, 0), PromptBudget::kLeastLoneRows);
  PromptBudget fast;
  fast.note({.prompt_rows = 512, .prompt_positions = 512 * 256}, 0.001);
  EXPECT_EQ(rows(fast, 1, 0), PromptBudget::kMostRows);
}

}  // namespace
}  // namespace zllm::engine
