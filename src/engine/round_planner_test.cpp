#include <gtest/gtest.h>

#include <vector>

#include <zllm/engine/round_planner.h>

namespace zllm::engine {
namespace {

using Rows = std::vector<std::pair<std::size_t, std::uint64_t>>;

constexpr auto kAnswer = PendingRows::Kind::answer;
constexpr auto kPrompt = PendingRows::Kind::prompt;
constexpr PlanLimits kLimits{.rows = 512, .sequences = 8, .prompt_rows = 128, .anchor = 0};
constexpr PlanLimits kAnchored{.rows = 512, .sequences = 8, .prompt_rows = 128, .anchor = 64};

Rows plan(const std::vector<PendingRows>& pending, const PlanLimits& limits) {
  Rows rows;
  for (const PlannedRows& planned : plan_round(pending, limits)) {
    rows.emplace_back(planned.index, planned.rows);
  }
  return rows;
}

TEST(RoundPlanner, PutsAnswersFirstThenForcedRunsThenPrompts) {
  const std::vector<PendingRows> pending = {
      {.kind = kPrompt, .rows = 100}, {.kind = kAnswer, .start = 9, .rows = 5},
      {.kind = kPrompt, .rows = 100}, {.kind = kAnswer, .start = 4, .rows = 1},
      {.kind = kPrompt, .rows = 1},
  };
  EXPECT_EQ(plan(pending, kLimits), (Rows{{3, 1}, {1, 5}, {0, 100}, {2, 28}}));
}

TEST(RoundPlanner, GivesPromptsWhatTheyMayHaveInOrder) {
  const std::vector<PendingRows> pending = {{.kind = kPrompt, .rows = 4000},
                                            {.kind = kPrompt, .rows = 10}};
  EXPECT_EQ(plan(pending, kLimits), (Rows{{0, 128}}));
  EXPECT_EQ(plan(pending, {.rows = 100, .sequences = 8, .prompt_rows = 128}), (Rows{{0, 100}}));
  EXPECT_TRUE(plan({}, kLimits).empty());
}

TEST(RoundPlanner, PutsShortPromptsOfOnePriorityFirstWhereTheyArePreferred) {
  PlanLimits limits = kLimits;
  limits.prefers_short = true;
  const std::vector<PendingRows> pending = {
      {.kind = kPrompt, .rows = 60, .priority = 2}, {.kind = kPrompt, .rows = 900, .priority = 1},
      {.kind = kPrompt, .rows = 40, .priority = 1}, {.kind = kAnswer, .start = 9, .rows = 1},
      {.kind = kPrompt, .rows = 20, .priority = 1}, {.kind = kPrompt, .rows = 20, .priority = 1},
      {.kind = kPrompt, .rows = 1, .priority = 0},
  };
  limits.prompt_rows = 300;
  EXPECT_EQ(plan(pending, limits), (Rows{{3, 1}, {0, 60}, {4, 20}, {5, 20}, {2, 40}, {1, 160}}));
  limits.prefers_short = false;
  EXPECT_EQ(plan(pending, limits), (Rows{{3, 1}, {0, 60}, {1, 240}}));
}

TEST(RoundPlanner, LetsAnswersThatDoNotFitTakeTurns) {
  std::vector<PendingRows> pending(5, {.kind = kAnswer, .start = 1, .rows = 1, .last_round = 3});
  pending[4].last_round = 1;
  pending[2].last_round = 2;
  EXPECT_EQ(plan(pending, {.rows = 512, .sequences = 3, .prompt_rows = 128}),
            (Rows{{4, 1}, {2, 1}, {0, 1}}));
  EXPECT_EQ(plan(pending, {.rows = 2, .sequences = 3, .prompt_rows = 128}), (Rows{{4, 1}, {2, 1}}));
}

TEST(RoundPlanner, CutsAnchoredPromptsAtMultiplesAndWhereAsked) {
  EXPECT_EQ(plan({{.kind = kPrompt, .rows = 600, .cut = 576}}, kAnchored), (Rows{{0, 128}}));
  EXPECT_EQ(plan({{.kind = kPrompt, .start = 512, .rows = 88, .cut = 576}}, kAnchored),
            (Rows{{0, 64}}));
  EXPECT_EQ(plan({{.kind = kPrompt, .start = 576, .rows = 24, .cut = 576}}, kAnchored),
            (Rows{{0, 24}}));
  // Beside an answer: 128 rows, of which the second prompt could not reach an anchor.
  const std::vector<PendingRows> pending = {{.kind = kAnswer, .start = 4, .rows = 1},
                                            {.kind = kPrompt, .start = 30, .rows = 90, .cut = 64},
                                            {.kind = kPrompt, .start = 0, .rows = 300, .cut = 256},
                                            {.kind = kPrompt, .start = 0, .rows = 30, .cut = 0}};
  EXPECT_EQ(plan(pending, kAnchored), (Rows{{0, 1}, {1, 34}, {2, 64}, {3, 30}}));
  // Rounds too small for an anchor still go on.
  EXPECT_EQ(plan({{.kind = kPrompt, .rows = 100, .cut = 64}},
                 {.rows = 16, .sequences = 8, .prompt_rows = 128, .anchor = 64}),
            (Rows{{0, 16}}));
}

TEST(RoundPlanner, KeepsPromptsToTheirTime) {
  const PlanLimits limits{
      .rows = 512, .sequences = 8, .prompt_rows = 128, .prompt_seconds = 0.1, .least_rows = 16};
  const PendingRows answer{.kind = kAnswer, .start = 4, .rows = 1};
  const auto prompt = [](std::uint64_t rows, double row_seconds) {
    return PendingRows{.kind = kPrompt, .rows = rows, .row_seconds = row_seconds};
  };
  EXPECT_EQ(plan({answer, prompt(400, 0.0021)}, limits), (Rows{{0, 1}, {1, 47}}));
  EXPECT_EQ(plan({answer, prompt(20, 0.0021), prompt(400, 0.0041)}, limits),
            (Rows{{0, 1}, {1, 20}, {2, 14}}));
  EXPECT_EQ(plan({answer, prompt(400, 0.0001)}, limits), (Rows{{0, 1}, {1, 128}}));
  // The first of them goes on whatever it takes.
  EXPECT_EQ(plan({answer, prompt(400, 0.05), prompt(400, 0.001)}, limits), (Rows{{0, 1}, {1, 16}}));
  EXPECT_EQ(plan({prompt(400, 0.002), prompt(9, 0.0001)}, limits), (Rows{{0, 50}}));
  // As far as an anchor, where it must be one.
  PlanLimits anchored = limits;
  anchored.least_rows = 64;
  anchored.anchor = 64;
  EXPECT_EQ(plan({answer, prompt(400, 0.01), prompt(9, 0.001)}, anchored), (Rows{{0, 1}, {1, 64}}));
}

TEST(RoundPlanner, KeepsToTheRowsOfOneSequence) {
  EXPECT_EQ(
      plan({{.kind = kPrompt, .rows = 600, .most = 64}, {.kind = kPrompt, .rows = 9}}, kLimits),
      (Rows{{0, 64}, {1, 9}}));
}

}  // namespace
}  // namespace zllm::engine
