#include <algorithm>
#include <string>

#include "model_test.h"

// Drafted rows of which some are kept: what follows has the bits of a run without drafts.
namespace zllm::test {
namespace {

using runtime::AnyModel;
using runtime::Round;
using runtime::SegmentKind;

constexpr std::size_t kMostDrafted = 5;

class VerifyTest : public ModelTest {
 protected:
  // `right` rows of the prompt from `start` on, then wrong guesses.
  Part drafted(SequenceId id, std::size_t start, std::size_t right, std::size_t count) const {
    Part part{.sequence = id,
              .start = start,
              .tokens = tokens(start, right),
              .kind = SegmentKind::verify};
    for (std::size_t row = right; row < count; ++row) {
      part.tokens.push_back(wrong_token(start + row));
    }
    return part;
  }
};

TEST_P(VerifyTest, AnyNumberOfRowsCanBeKept) {
  registry::Model loaded = load_fixture(fixture_);
  AnyModel& model = loaded.model();
  const Logits expected = whole(model);
  for (const std::size_t start : {std::size_t{0}, std::size_t{3}, length() / 2 + 1}) {
    for (std::size_t count = 1; count <= kMostDrafted; ++count) {
      for (std::size_t kept = 0; kept <= count; ++kept) {
        const std::string what = "start " + std::to_string(start) + ", " + std::to_string(kept) +
                                 " of " + std::to_string(count);
        const SequenceId id = create(model);
        prefill(model, id, first(start));
        const auto output = model.submit(Round{{segment_of(drafted(id, start, kept, count))}});
        ASSERT_TRUE(output.ok()) << output.error().message;
        expect_same_bits(rows(output->logits, 0, kept), rows(expected, start, kept), what);
        ASSERT_TRUE(model.states().commit(id, kept).ok()) << what;
        const std::size_t from = start + kept;
        ASSERT_EQ(*model.states().rows(id), from) << what;
        const std::size_t after = std::min<std::size_t>(6, length() - from);
        expect_same_bits(prefill(model, id, rest(from).first(after)), rows(expected, from, after),
                         what);
        ASSERT_TRUE(model.states().release(id).ok());
      }
    }
  }
}

// One verify after the other, without a prefill between them.
TEST_P(VerifyTest, DraftsOfAWholeAnswerLeaveNoTrace) {
  registry::Model loaded = load_fixture(fixture_);
  AnyModel& model = loaded.model();
  const SequenceId id = create(model);
  std::size_t done = 0;
  Logits logits;
  for (std::size_t step = 0; done < length(); ++step) {
    const std::size_t right = 1 + step % std::min<std::size_t>(3, length() - done);
    const auto output = model.submit(Round{{segment_of(drafted(id, done, right, right + 2))}});
    ASSERT_TRUE(output.ok()) << output.error().message;
    if (step % 4 == 3) {
      ASSERT_TRUE(model.states().rollback(id).ok());
      continue;
    }
    const auto kept = rows(output->logits, 0, right);
    logits.insert(logits.end(), kept.begin(), kept.end());
    ASSERT_TRUE(model.states().commit(id, right).ok());
    done += right;
  }
  expect_same_bits(logits, whole(model), "verify");
}

TEST_P(VerifyTest, RecurrentStateKeepsAPartOfAVerifyAlone) {
  registry::Model loaded = load_fixture(fixture_);
  AnyModel& model = loaded.model();
  const SequenceId id = create(model);
  const Part part{.sequence = id, .start = 0, .tokens = tokens(0, 4)};
  ASSERT_TRUE(model.submit(Round{{segment_of(part)}}).ok());
  EXPECT_FALSE(model.states().commit(id, 5).ok());
  EXPECT_EQ(model.states().commit(id, 2).ok(), !is_recurrent(model));
}

INSTANTIATE_TEST_SUITE_P(Fixtures, VerifyTest, testing::ValuesIn(model_fixture_names()),
                         fixture_suffix);

}  // namespace
}  // namespace zllm::test
