#include <gtest/gtest.h>

#include <zllm/engine/prompt_budget.h>

namespace zllm::engine {
namespace {

TEST(PromptBudget, FollowsWhatARowOfAPromptCosts) {
  PromptBudget budget;
  EXPECT_EQ(budget.rows(), PromptBudget::kFirstRows);
  for (int i = 0; i < 40; ++i) {
    budget.note(0, 512, 512 * 0.001);
  }
  EXPECT_NEAR(static_cast<double>(budget.rows()), 150, 2);
  // Beside answers, what these take alone is not the prompt's.
  for (int i = 0; i < 40; ++i) {
    budget.note(8, 0, 0.1);
    budget.note(8, budget.rows(), 0.1 + 0.002 * static_cast<double>(budget.rows()));
  }
  EXPECT_NEAR(static_cast<double>(budget.rows()), 75, 2);
}

TEST(PromptBudget, StaysWithinItsBounds) {
  PromptBudget slow;
  slow.note(0, 512, 100.0);
  EXPECT_EQ(slow.rows(), PromptBudget::kLeastRows);
  PromptBudget fast;
  fast.note(0, 512, 0.001);
  EXPECT_EQ(fast.rows(), PromptBudget::kMostRows);
  // A tail of a prompt beside slow answers says nothing.
  fast.note(8, 3, 5.0);
  EXPECT_EQ(fast.rows(), PromptBudget::kMostRows);
  // A round that took less than answers alone do.
  fast.note(8, 0, 1.0);
  fast.note(8, 64, 0.5);
  EXPECT_EQ(fast.rows(), PromptBudget::kMostRows);
}

}  // namespace
}  // namespace zllm::engine
