#include <string>
#include <vector>

#include "model_test.h"

// Forks, cuts and copies of a sequence's state.
namespace zllm::test {
namespace {

using runtime::AnyModel;

class StatesTest : public ModelTest {
 protected:
  StatesTest()
      : loaded_(load_fixture(fixture_)), expected_(whole(model())), split_(length() / 2 + 1) {}

  AnyModel& model() { return loaded_.model(); }

  // A sequence of the prompt's first rows.
  SequenceId begun(std::size_t rows) {
    const SequenceId id = create(model());
    prefill(model(), id, first(rows));
    return id;
  }

  // Goes on with the prompt from where the sequence stands.
  void expect_goes_on(AnyModel& model, SequenceId id, std::size_t from, const std::string& what) {
    ASSERT_EQ(*model.states().rows(id), from) << what;
    expect_same_bits(prefill(model, id, rest(from)), rows(expected_, from, length() - from), what);
  }

  registry::Model loaded_;
  Logits expected_;
  std::size_t split_;
};

TEST_P(StatesTest, AForkDoesNotSeeWhereItsParentGoes) {
  const SequenceId parent = begun(split_);
  const auto fork = model().states().fork(parent);
  ASSERT_TRUE(fork.ok());
  const auto second = model().states().fork(*fork);
  ASSERT_TRUE(second.ok());
  prefill(model(), parent, std::vector<TokenId>(9, 1));
  prefill(model(), *second, std::vector<TokenId>(5, 2));
  expect_goes_on(model(), *fork, split_, "fork");
  ASSERT_TRUE(model().states().release(parent).ok());
  const auto third = model().states().fork(*fork);
  ASSERT_TRUE(third.ok());
  EXPECT_EQ(*model().states().rows(*third), length());
}

TEST_P(StatesTest, TruncateReachesACheckpoint) {
  const SequenceId id = begun(split_);
  ASSERT_TRUE(model().states().checkpoint(id).ok());
  prefill(model(), id, std::vector<TokenId>(9, 1));
  ASSERT_EQ(*model().states().truncate(id, split_), split_);
  expect_goes_on(model(), id, split_, "truncate");
}

TEST_P(StatesTest, TruncateTellsHowFarItWent) {
  const SequenceId id = begun(split_ - 3);
  ASSERT_TRUE(model().states().checkpoint(id).ok());
  prefill(model(), id, std::vector<TokenId>(9, 1));
  const std::size_t reached = is_recurrent(model()) ? split_ - 3 : split_ - 2;
  ASSERT_EQ(*model().states().truncate(id, split_ - 2), reached);
  if (!is_recurrent(model())) {
    ASSERT_EQ(*model().states().truncate(id, split_ - 3), split_ - 3);
  }
  expect_goes_on(model(), id, split_ - 3, "truncate");
  ASSERT_EQ(*model().states().truncate(id, 0), 0U);
  expect_goes_on(model(), id, 0, "truncate to nothing");
}

TEST_P(StatesTest, RestoreReachesEveryCheckpointThatIsLeft) {
  const SequenceId id = create(model());
  const std::vector<std::size_t> marks = {2, split_ - 1, split_ + 1, split_ + 4};
  std::size_t done = 0;
  for (const std::size_t mark : marks) {
    prefill(model(), id, rest(done).first(mark - done));
    done = mark;
    ASSERT_TRUE(model().states().checkpoint(id).ok());
  }
  prefill(model(), id, std::vector<TokenId>(3, 1));
  EXPECT_EQ(model().states().restore(id, split_).ok(), !is_recurrent(model()));
  for (const std::size_t mark : {std::size_t{2}, split_ - 1}) {
    const auto fork = model().states().fork(id);  // forks share the marks
    ASSERT_TRUE(fork.ok());
    ASSERT_TRUE(model().states().restore(*fork, mark).ok());
    expect_goes_on(model(), *fork, mark, "restore to " + std::to_string(mark));
  }
  EXPECT_FALSE(model().states().restore(id, length() + 100).ok());
}

TEST_P(StatesTest, AnExportedStateGoesOnInAnotherModel) {
  const SequenceId id = begun(split_);
  const auto snapshot = model().states().export_state(id);
  ASSERT_TRUE(snapshot.ok());
  prefill(model(), id, std::vector<TokenId>(9, 1));
  registry::Model other = load_fixture(fixture_);
  const auto imported = other.model().states().import_state(*snapshot);
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  expect_goes_on(other.model(), *imported, split_, "import");
  auto broken = *snapshot;
  broken.rows += 1000;
  EXPECT_FALSE(other.model().states().import_state(broken).ok());
  broken = *snapshot;
  broken.bytes.pop_back();
  EXPECT_FALSE(other.model().states().import_state(broken).ok());
}

INSTANTIATE_TEST_SUITE_P(Fixtures, StatesTest, testing::ValuesIn(model_fixture_names()),
                         fixture_suffix);

}  // namespace
}  // namespace zllm::test
