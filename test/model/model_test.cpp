#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <random>
#include <vector>

#include <zllm/runtime/prefill.h>

#include "fixture.h"

// Every fixture through every way that rows can take: whole, appended at every split, one by one,
// mixed with other sequences, forked, truncated, verified, exported. All ways must give the same
// bits, and those must agree with the oracle.
namespace zllm::test {
namespace {

using runtime::AnyModel;
using runtime::PrefillLogits;
using runtime::Round;
using runtime::RoundOutput;
using runtime::Segment;
using runtime::SegmentKind;

double largest_difference(std::span<const float> actual, std::span<const float> expected) {
  EXPECT_EQ(actual.size(), expected.size());
  double worst = 0;
  for (std::size_t i = 0; i < std::min(actual.size(), expected.size()); ++i) {
    worst = std::max(worst, std::abs(double{actual[i]} - double{expected[i]}));
  }
  return worst;
}

class ModelTest : public testing::TestWithParam<std::string> {
 protected:
  ModelTest() : fixture_(read_model_fixture(GetParam())) {}

  SequenceId create(AnyModel& model) {
    const auto id = model.states().create(fixture_.prompt.size());
    EXPECT_TRUE(id.ok());
    return *id;
  }

  std::vector<float> prefill(AnyModel& model, SequenceId id, std::span<const TokenId> tokens) {
    auto output = runtime::prefill(model, id, tokens, PrefillLogits::all);
    EXPECT_TRUE(output.ok()) << output.error().message;
    return output.ok() ? std::move(output->logits) : std::vector<float>();
  }

  std::vector<float> whole(AnyModel& model) {
    const SequenceId id = create(model);
    std::vector<float> logits = prefill(model, id, fixture_.prompt);
    EXPECT_TRUE(model.states().release(id).ok());
    return logits;
  }

  Segment segment(SequenceId id, std::size_t start, std::size_t count, SegmentKind kind) const {
    const auto first = fixture_.prompt.begin() + static_cast<std::ptrdiff_t>(start);
    Segment segment{.sequence = id,
                    .start = start,
                    .kind = kind,
                    .tokens = {first, first + static_cast<std::ptrdiff_t>(count)},
                    .logit_rows = std::vector<std::uint32_t>(count)};
    std::iota(segment.logit_rows.begin(), segment.logit_rows.end(), 0u);
    return segment;
  }

  std::size_t vocabulary() const { return fixture_.logits.size() / fixture_.prompt.size(); }

  ModelFixture fixture_;
};

void expect_same_bits(const std::vector<float>& actual, const std::vector<float>& expected,
                      const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  EXPECT_EQ(std::memcmp(actual.data(), expected.data(), actual.size() * sizeof(float)), 0) << what;
}

TEST_P(ModelTest, WholePrefillAgreesWithTheOracle) {
  registry::Model model = load_fixture(fixture_);
  const std::vector<float> logits = whole(model.model());
  const double worst = largest_difference(logits, fixture_.logits);
  EXPECT_LT(worst, fixture_.tolerance);
  RecordProperty("max_logit_difference", std::to_string(worst));
}

// Follows the oracle's own tokens: each must be the likeliest here too, or, where activations are
// quantised, within the tolerance of it.
TEST_P(ModelTest, GreedyTokensAgreeWithTheOracle) {
  registry::Model model = load_fixture(fixture_);
  // The oracle's tokens come from forwards of the final length.
  const auto id = model.model().states().create(fixture_.prompt.size() + fixture_.greedy.size());
  ASSERT_TRUE(id.ok());
  std::vector<float> row = prefill(model.model(), *id, fixture_.prompt);
  for (std::size_t i = 0; i < fixture_.greedy.size(); ++i) {
    const std::span<const float> last = std::span(row).last(vocabulary());
    const float best = *std::ranges::max_element(last);
    const float chosen = last[static_cast<std::size_t>(fixture_.greedy[i])];
    ASSERT_LE(best - chosen, fixture_.is_quantised ? fixture_.tolerance : 0.0) << "token " << i;
    auto output = runtime::decode(model.model(), *id, fixture_.greedy[i]);
    ASSERT_TRUE(output.ok());
    row = std::move(output->logits);
  }
}

TEST_P(ModelTest, AppendAtEverySplitHasTheSameBits) {
  registry::Model model = load_fixture(fixture_);
  const std::vector<float> expected = whole(model.model());
  for (std::size_t split = 1; split < fixture_.prompt.size(); ++split) {
    const SequenceId id = create(model.model());
    std::vector<float> logits = prefill(model.model(), id, std::span(fixture_.prompt).first(split));
    const std::vector<float> rest =
        prefill(model.model(), id, std::span(fixture_.prompt).subspan(split));
    logits.insert(logits.end(), rest.begin(), rest.end());
    expect_same_bits(logits, expected, "split at " + std::to_string(split));
    ASSERT_TRUE(model.model().states().release(id).ok());
  }
}

TEST_P(ModelTest, DecodeRowByRowHasTheSameBits) {
  registry::Model model = load_fixture(fixture_);
  const SequenceId id = create(model.model());
  std::vector<float> logits;
  for (const TokenId token : fixture_.prompt) {
    const std::vector<float> row = prefill(model.model(), id, std::span(&token, 1));
    logits.insert(logits.end(), row.begin(), row.end());
  }
  expect_same_bits(logits, whole(model.model()), "decode");
}

TEST_P(ModelTest, ThreadsAndRoundSizesDoNotChangeBits) {
  registry::Model model = load_fixture(fixture_);
  const std::vector<float> expected = whole(model.model());
  for (const ModelSetup& setup : {ModelSetup{.threads = 1}, ModelSetup{.threads = 3},
                                  ModelSetup{.threads = 2, .rows_per_round = 7}}) {
    registry::Model other = load_fixture(fixture_, setup);
    expect_same_bits(whole(other.model()), expected, "threads " + std::to_string(setup.threads));
  }
}

// Several sequences at different places in one round: new prefills, appends, decodes.
TEST_P(ModelTest, MixedRoundsHaveTheSameBits) {
  registry::Model loaded = load_fixture(fixture_);
  AnyModel& model = loaded.model();
  const std::vector<float> expected = whole(model);
  std::mt19937 random(7);
  struct Run {
    SequenceId id;
    std::size_t done = 0;
    std::vector<float> logits;
  };
  std::vector<Run> runs(4);
  for (Run& run : runs) {
    run.id = create(model);
  }
  for (;;) {
    Round round;
    std::vector<Run *> in_round;
    for (Run& run : runs) {
      const std::size_t left = fixture_.prompt.size() - run.done;
      if (left == 0 || (random() % 4 == 0 && !in_round.empty())) {
        continue;
      }
      const std::size_t count =
          random() % 3 == 0 ? 1 : 1 + random() % std::min<std::size_t>(left, 9);
      const SegmentKind kind = run.done == 0 ? SegmentKind::new_prefill
                               : count == 1  ? SegmentKind::decode
                                             : SegmentKind::append_prefill;
      round.segments.push_back(segment(run.id, run.done, count, kind));
      in_round.push_back(&run);
    }
    if (in_round.empty()) {
      break;
    }
    const auto output = model.submit(round);
    ASSERT_TRUE(output.ok()) << output.error().message;
    std::size_t row = 0;
    for (std::size_t i = 0; i < in_round.size(); ++i) {
      const std::size_t count = round.segments[i].tokens.size();
      for (std::size_t k = 0; k < count; ++k) {
        const std::span<const float> values = output->row(row++);
        in_round[i]->logits.insert(in_round[i]->logits.end(), values.begin(), values.end());
      }
      in_round[i]->done += count;
      ASSERT_TRUE(model.states().commit(in_round[i]->id, count).ok());
    }
  }
  for (const Run& run : runs) {
    expect_same_bits(run.logits, expected, "sequence " + std::to_string(run.id.value()));
  }
}

// Drafted rows of which some are kept: what follows has the bits of a run without drafts.
TEST_P(ModelTest, VerifyKeepsOnlyWhatIsCommitted) {
  registry::Model loaded = load_fixture(fixture_);
  AnyModel& model = loaded.model();
  const std::vector<float> expected = whole(model);
  const SequenceId id = create(model);
  std::size_t done = 0;
  std::vector<float> logits;
  std::mt19937 random(5);
  while (done < fixture_.prompt.size()) {
    const std::size_t right =
        1 + random() % std::min<std::size_t>(3, fixture_.prompt.size() - done);
    Segment drafted = segment(id, done, right, SegmentKind::verify);
    drafted.tokens.push_back(static_cast<TokenId>(random() % vocabulary()));  // a wrong guess
    const auto output = model.submit(Round{{drafted}});
    ASSERT_TRUE(output.ok()) << output.error().message;
    logits.insert(logits.end(), output->logits.begin(), output->logits.end());
    if (random() % 4 == 0) {
      logits.resize(done * vocabulary());
      ASSERT_TRUE(model.states().rollback(id).ok());
      continue;
    }
    ASSERT_TRUE(model.states().commit(id, right).ok());
    done += right;
  }
  expect_same_bits(logits, expected, "verify");
}

TEST_P(ModelTest, ForksTruncationsAndSnapshotsGoOnWithTheSameBits) {
  registry::Model loaded = load_fixture(fixture_);
  AnyModel& model = loaded.model();
  const std::vector<float> expected = whole(model);
  const std::size_t split = fixture_.prompt.size() / 2 + 1;
  const auto rest = std::span(fixture_.prompt).subspan(split);
  const std::vector<float> tail(
      expected.begin() + static_cast<std::ptrdiff_t>(split * vocabulary()), expected.end());
  const SequenceId parent = create(model);
  prefill(model, parent, std::span(fixture_.prompt).first(split));

  const auto fork = model.states().fork(parent);
  ASSERT_TRUE(fork.ok());
  const auto snapshot = model.states().export_state(parent);
  ASSERT_TRUE(snapshot.ok());
  // The parent goes another way first; the fork must not see it.
  prefill(model, parent, std::vector<TokenId>(9, 1));
  expect_same_bits(prefill(model, *fork, rest), tail, "fork");
  ASSERT_EQ(*model.states().truncate(parent, split), split);
  expect_same_bits(prefill(model, parent, rest), tail, "truncate");

  registry::Model other = load_fixture(fixture_);
  const auto imported = other.model().states().import_state(*snapshot);
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  expect_same_bits(prefill(other.model(), *imported, rest), tail, "import");
  auto broken = *snapshot;
  broken.rows += 1000;
  EXPECT_FALSE(other.model().states().import_state(broken).ok());
}

TEST_P(ModelTest, ARefusedRoundChangesNothing) {
  registry::Model loaded = load_fixture(fixture_);
  AnyModel& model = loaded.model();
  const SequenceId id = create(model);
  prefill(model, id, std::span(fixture_.prompt).first(5));
  const std::uint64_t free = model.states().free_rows();
  const SequenceId other = create(model);
  Round round;
  round.segments.push_back(segment(other, 0, 3, SegmentKind::new_prefill));
  round.segments.push_back(segment(id, 4, 2, SegmentKind::append_prefill));  // not where it stands
  EXPECT_FALSE(model.submit(round).ok());
  EXPECT_EQ(*model.states().rows(other), 0u);
  EXPECT_EQ(*model.states().rows(id), 5u);
  EXPECT_EQ(model.states().free_rows(), free);
}

TEST_P(ModelTest, HalfPrecisionCacheStaysClose) {
  registry::Model exact = load_fixture(fixture_);
  registry::Model half = load_fixture(fixture_, {.kv_type = backend::KvType::f16});
  const double worst = largest_difference(whole(half.model()), whole(exact.model()));
  // Rounding moves int8 codes of quantised activations to their neighbours.
  EXPECT_LT(worst, fixture_.is_quantised ? fixture_.tolerance : 0.05);
  EXPECT_GT(worst, 0.0);
}

INSTANTIATE_TEST_SUITE_P(Fixtures, ModelTest, testing::ValuesIn(model_fixture_names()),
                         [](const testing::TestParamInfo<std::string>& tested) {
                           std::string name = tested.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace zllm::test
