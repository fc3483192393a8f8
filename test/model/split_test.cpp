#include <string>

#include "model_test.h"

// A prompt cut in every way that one sequence alone can be cut.
namespace zllm::test {
namespace {

class SplitTest : public ModelTest {};

TEST_P(SplitTest, AppendAtEverySplitHasTheSameBits) {
  registry::Model model = load_fixture(fixture_);
  const Logits expected = whole(model.model());
  for (std::size_t split = 1; split < length(); ++split) {
    const SequenceId id = create(model.model());
    Logits logits = prefill(model.model(), id, first(split));
    const Logits behind = prefill(model.model(), id, rest(split));
    logits.insert(logits.end(), behind.begin(), behind.end());
    expect_same_bits(logits, expected, "split at " + std::to_string(split));
    ASSERT_TRUE(model.model().states().release(id).ok());
  }
}

TEST_P(SplitTest, DecodeFromASplitHasTheSameBits) {
  registry::Model model = load_fixture(fixture_);
  const Logits expected = whole(model.model());
  for (const std::size_t split : {std::size_t{1}, length() / 3, length() / 2, length() - 1}) {
    const SequenceId id = create(model.model());
    prefill(model.model(), id, first(split));
    expect_same_bits(decode(model.model(), id, rest(split)),
                     rows(expected, split, length() - split),
                     "decode from " + std::to_string(split));
    ASSERT_TRUE(model.model().states().release(id).ok());
  }
}

TEST_P(SplitTest, RowByRowHasTheSameBits) {
  registry::Model model = load_fixture(fixture_);
  const SequenceId id = create(model.model());
  Logits logits;
  for (std::size_t row = 0; row < length(); ++row) {
    const Logits next = prefill(model.model(), id, rest(row).first(1));
    logits.insert(logits.end(), next.begin(), next.end());
  }
  expect_same_bits(logits, whole(model.model()), "row by row");
}

TEST_P(SplitTest, ThreadsAndRoundSizesDoNotChangeBits) {
  registry::Model model = load_fixture(fixture_);
  const Logits expected = whole(model.model());
  for (const ModelSetup& setup : {ModelSetup{.threads = 1}, ModelSetup{.threads = 3},
                                  ModelSetup{.threads = 2, .rows_per_round = 7}}) {
    registry::Model other = load_fixture(fixture_, setup);
    expect_same_bits(whole(other.model()), expected, "threads " + std::to_string(setup.threads));
  }
}

INSTANTIATE_TEST_SUITE_P(Fixtures, SplitTest, testing::ValuesIn(model_fixture_names()),
                         fixture_suffix);

}  // namespace
}  // namespace zllm::test
