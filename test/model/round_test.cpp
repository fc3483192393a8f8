#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "model_test.h"

// Several sequences in one round.
namespace zllm::test {
namespace {

using runtime::AnyModel;
using runtime::Round;
using runtime::RoundOutput;
using runtime::SegmentKind;

class RoundTest : public ModelTest {
 protected:
  // A sequence under way and what it has given so far.
  struct Run {
    SequenceId id;
    std::vector<TokenId> tokens;
    std::size_t done = 0;
    Logits logits;
  };
  // What a round does with one sequence: of `part`, the first `kept` rows are the sequence's own.
  struct Step {
    Run *run = nullptr;
    Part part;
    std::size_t kept = 0;
  };

  // Sequences of different lengths and starts, all cut from the prompt.
  std::vector<Run> start(AnyModel& model) const {
    std::vector<Run> runs;
    for (const std::size_t skipped : {std::size_t{0}, std::size_t{3}, length() / 2, length() - 2}) {
      const auto part = rest(skipped);
      runs.push_back({.id = create(model), .tokens = {part.begin(), part.end()}, .logits = {}});
    }
    return runs;
  }

  Step choose(Run& run, std::mt19937& random) const {
    const std::size_t left = run.tokens.size() - run.done;
    const bool is_verify = random() % 3 == 0;
    const std::size_t limit = std::min<std::size_t>(left, is_verify ? 4 : 9);
    const std::size_t count = random() % 3 == 0 ? 1 : 1 + random() % limit;
    const auto first = run.tokens.begin() + static_cast<std::ptrdiff_t>(run.done);
    Step step{.run = &run,
              .part = {.sequence = run.id,
                       .start = run.done,
                       .tokens = {first, first + static_cast<std::ptrdiff_t>(count)},
                       .kind = count == 1 ? SegmentKind::decode : SegmentKind::append_prefill},
              .kept = count};
    if (is_verify) {
      step.part.kind = SegmentKind::verify;
      step.kept = random() % (count + 1);
      for (std::size_t row = step.kept; row < count; ++row) {
        step.part.tokens[row] = wrong_token(row);
      }
      step.part.tokens.push_back(wrong_token(count));
    }
    return step;
  }

  void take(AnyModel& model, const std::vector<Step>& steps, const RoundOutput& output) const {
    std::size_t row = 0;
    for (const Step& step : steps) {
      const auto kept = rows(output.logits, row, step.kept);
      step.run->logits.insert(step.run->logits.end(), kept.begin(), kept.end());
      step.run->done += step.kept;
      row += step.part.tokens.size();
      ASSERT_TRUE(model.states().commit(step.run->id, step.kept).ok());
    }
  }
};

TEST_P(RoundTest, MixedRoundsHaveTheSameBits) {
  registry::Model loaded = load_fixture(fixture_);
  AnyModel& model = loaded.model();
  std::mt19937 random(7);
  std::vector<Run> runs = start(model);
  for (;;) {
    std::vector<Step> steps;
    Round round;
    for (Run& run : runs) {
      if (run.done != run.tokens.size() && (steps.empty() || random() % 4 != 0)) {
        steps.push_back(choose(run, random));
        round.segments.push_back(segment_of(steps.back().part));
      }
    }
    if (steps.empty()) {
      break;
    }
    const auto output = model.submit(round);
    ASSERT_TRUE(output.ok()) << output.error().message;
    take(model, steps, *output);
  }
  for (const Run& run : runs) {
    expect_same_bits(run.logits, whole(model, run.tokens),
                     "sequence " + std::to_string(run.id.value()));
  }
}

TEST_P(RoundTest, ARefusedRoundChangesNothing) {
  registry::Model loaded = load_fixture(fixture_);
  AnyModel& model = loaded.model();
  const SequenceId id = create(model);
  prefill(model, id, first(5));
  const std::uint64_t free = model.states().free_rows();
  const SequenceId other = create(model);
  Round round;
  round.segments.push_back(segment_of({.sequence = other, .start = 0, .tokens = tokens(0, 3)}));
  // Not where it stands.
  round.segments.push_back(segment_of({.sequence = id, .start = 4, .tokens = tokens(4, 2)}));
  EXPECT_FALSE(model.submit(round).ok());
  EXPECT_EQ(*model.states().rows(other), 0U);
  EXPECT_EQ(*model.states().rows(id), 5U);
  EXPECT_EQ(model.states().free_rows(), free);
  expect_same_bits(prefill(model, id, rest(5)), rows(whole(model), 5, length() - 5), "goes on");
}

INSTANTIATE_TEST_SUITE_P(Fixtures, RoundTest, testing::ValuesIn(model_fixture_names()),
                         fixture_suffix);

}  // namespace
}  // namespace zllm::test
