#include <gtest/gtest.h>

#include <zllm/engine/round_cost.h>

namespace zllm::engine {
namespace {

// What a small model takes on two cores.
double real_seconds(const RoundWork& work) {
  return 0.005 + 0.0012 * static_cast<double>(work.answer_rows) +
         0.0007 * static_cast<double>(work.prompt_rows) +
         4e-7 * static_cast<double>(work.prompt_positions);
}

RoundCost learned() {
  RoundCost cost;
  for (std::uint64_t i = 0; i < 400; ++i) {
    const RoundWork alone{.answer_rows = 1 + i % 16};
    cost.note(alone, real_seconds(alone));
    const std::uint64_t rows = 16 + i * 7 % 80;
    const RoundWork mixed{
        .answer_rows = 1 + i % 16, .prompt_rows = rows, .prompt_positions = rows * (i * 37 % 4096)};
    cost.note(mixed, real_seconds(mixed));
  }
  return cost;
}

TEST(RoundCost, LearnsWhatEachPartTakes) {
  const RoundCost cost = learned();
  for (const RoundWork& work :
       {RoundWork{.answer_rows = 1}, RoundWork{.answer_rows = 16},
        RoundWork{.answer_rows = 4, .prompt_rows = 32, .prompt_positions = 32 * 100},
        RoundWork{.answer_rows = 4, .prompt_rows = 32, .prompt_positions = 32 * 4000}}) {
    EXPECT_NEAR(cost.seconds(work), real_seconds(work), 0.1 * real_seconds(work));
  }
}

TEST(RoundCost, OneOddRoundChangesLittleAndALastingChangeIsFollowed) {
  RoundCost cost = learned();
  const RoundWork work{.answer_rows = 4};
  const double before = cost.seconds(work);
  cost.note(work, 5.0);
  EXPECT_LT(cost.seconds(work), 1.3 * before);
  for (int i = 0; i < 20; ++i) {
    cost.note(work, 4 * before);
  }
  EXPECT_NEAR(cost.seconds(work), 4 * before, 0.1 * before);
}

TEST(RoundCost, TheFirstPartOfAPromptIsBelievedAndAFirstTokenIsNot) {
  RoundCost cost;
  cost.note({.prompt_rows = 1}, 3.0);  // loads the weights
  EXPECT_EQ(cost.seconds({.prompt_rows = 1}), 0);
  EXPECT_FALSE(cost.knows_prompts());
  cost.note({.answer_rows = 1}, 0.005);
  const RoundWork first{.answer_rows = 1, .prompt_rows = 32};
  cost.note(first, 1.0);
  EXPECT_TRUE(cost.knows_prompts());
  EXPECT_NEAR(cost.seconds(first), 1.0, 1e-9);
}

}  // namespace
}  // namespace zllm::engine
