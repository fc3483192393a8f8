#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <zllm/kv_cache/slot_table.h>

#include "model_test.h"

// A random schedule of everything that can happen to sequences, against plain lists of tokens: the
// last row of a sequence must have the bits of a fresh prefill of its tokens.
namespace zllm::test {
namespace {

using runtime::AnyModel;
using runtime::Round;
using runtime::SegmentKind;

constexpr std::size_t kSteps = 60;
constexpr std::size_t kMostSequences = 5;
constexpr std::size_t kMostTokens = 48;
constexpr std::size_t kMostChunk = 7;

// What a sequence should be.
struct Expected {
  SequenceId id;
  std::vector<TokenId> tokens;
  std::vector<std::size_t> checkpoints;
};

class ScheduleTest : public ModelTest {
 protected:
  ScheduleTest() : loaded_(load_fixture(fixture_)), fresh_(load_fixture(fixture_)) {}

  runtime::SequenceStates& states() { return loaded_.model().states(); }
  std::size_t below(std::size_t limit) { return random_() % limit; }
  Expected& any() { return sequences_[below(sequences_.size())]; }

  // The logits of the last row of a fresh prefill.
  const Logits& reference(const std::vector<TokenId>& tokens) {
    Logits& row = references_[tokens];
    if (row.empty()) {
      const Logits all = whole(fresh_.model(), tokens);
      row.assign(all.end() - static_cast<std::ptrdiff_t>(vocabulary()), all.end());
    }
    return row;
  }

  void begin();
  void fork();
  void release();
  void mark();
  void cut();
  void copy();
  void round();
  // One sequence's part of a round; nothing for one that is full.
  std::optional<Part> choose(const Expected& sequence);
  void settle(Expected& sequence, const Part& part, std::span<const float> logits);

  registry::Model loaded_;
  registry::Model fresh_;
  std::mt19937 random_{11};
  std::vector<Expected> sequences_;
  std::map<std::vector<TokenId>, Logits> references_;
};

void ScheduleTest::begin() {
  if (sequences_.size() < kMostSequences) {
    sequences_.push_back({.id = create(loaded_.model()), .tokens = {}, .checkpoints = {}});
  }
}

void ScheduleTest::fork() {
  if (sequences_.size() < kMostSequences) {
    Expected copy = any();
    const auto id = states().fork(copy.id);
    ASSERT_TRUE(id.ok()) << id.error().message;
    copy.id = *id;
    sequences_.push_back(std::move(copy));
  }
}

void ScheduleTest::release() {
  if (sequences_.size() > 2) {
    const std::size_t index = below(sequences_.size());
    ASSERT_TRUE(states().release(sequences_[index].id).ok());
    sequences_.erase(sequences_.begin() + static_cast<std::ptrdiff_t>(index));
  }
}

void ScheduleTest::mark() {
  Expected& sequence = any();
  ASSERT_TRUE(states().checkpoint(sequence.id).ok());
  std::vector<std::size_t>& marks = sequence.checkpoints;
  const std::size_t length = sequence.tokens.size();
  if (length != 0 && (marks.empty() || marks.back() != length)) {
    marks.push_back(length);
  }
  if (marks.size() > kv_cache::kCheckpoints) {
    marks.erase(marks.begin());
  }
}

void ScheduleTest::cut() {
  Expected& sequence = any();
  const std::size_t wanted = below(sequence.tokens.size() + 1);
  std::size_t reached = wanted;
  if (is_recurrent(loaded_.model()) && wanted != sequence.tokens.size()) {
    reached = 0;
    for (const std::size_t mark : sequence.checkpoints) {
      reached = mark <= wanted ? mark : reached;
    }
  }
  if (below(2) == 0) {
    ASSERT_EQ(states().restore(sequence.id, wanted).ok(), reached == wanted);
    reached = reached == wanted ? wanted : sequence.tokens.size();
  } else {
    const auto rows = states().truncate(sequence.id, wanted);
    ASSERT_TRUE(rows.ok()) << rows.error().message;
    ASSERT_EQ(*rows, reached);
  }
  sequence.tokens.resize(reached);
  std::erase_if(sequence.checkpoints, [&](std::size_t mark) { return mark > reached; });
}

void ScheduleTest::copy() {
  Expected& sequence = any();
  const auto snapshot = states().export_state(sequence.id);
  ASSERT_TRUE(snapshot.ok());
  ASSERT_TRUE(states().release(sequence.id).ok());
  const auto id = states().import_state(*snapshot);
  ASSERT_TRUE(id.ok()) << id.error().message;
  sequence.id = *id;
  sequence.checkpoints.clear();
}

std::optional<Part> ScheduleTest::choose(const Expected& sequence) {
  const std::size_t length = sequence.tokens.size();
  if (length >= kMostTokens) {
    return std::nullopt;
  }
  constexpr std::array<SegmentKind, 3> kKinds = {SegmentKind::append_prefill, SegmentKind::verify,
                                                 SegmentKind::decode};
  Part part{.sequence = sequence.id, .start = length, .tokens = {}, .kind = kKinds[below(3)]};
  const std::size_t most = std::min(kMostChunk, kMostTokens - length);
  const std::size_t count = part.kind == SegmentKind::decode ? 1 : 1 + below(most);
  for (std::size_t i = 0; i < count; ++i) {
    part.tokens.push_back(static_cast<TokenId>(below(vocabulary())));
  }
  return part;
}

void ScheduleTest::settle(Expected& sequence, const Part& part, std::span<const float> logits) {
  const std::size_t count = part.tokens.size();
  std::size_t kept = below(5) == 0 ? 0 : count;
  if (part.kind == SegmentKind::verify) {
    kept = below(count + 1);
  }
  ASSERT_TRUE((kept == 0 && below(2) == 0 ? states().rollback(sequence.id)
                                          : states().commit(sequence.id, kept))
                  .ok());
  if (kept != 0) {
    sequence.tokens.insert(sequence.tokens.end(), part.tokens.begin(),
                           part.tokens.begin() + static_cast<std::ptrdiff_t>(kept));
    expect_same_bits(rows(logits, kept - 1, 1), reference(sequence.tokens), "last row");
  }
  ASSERT_EQ(*states().rows(sequence.id), sequence.tokens.size());
}

void ScheduleTest::round() {
  Round round;
  std::vector<std::pair<Expected *, Part>> parts;
  for (Expected& sequence : sequences_) {
    const auto part = below(2) == 0 ? choose(sequence) : std::nullopt;
    if (part) {
      round.segments.push_back(segment_of(*part));
      parts.emplace_back(&sequence, *part);
    }
  }
  if (parts.empty()) {
    return;
  }
  const auto output = loaded_.model().submit(round);
  ASSERT_TRUE(output.ok()) << output.error().message;
  std::size_t row = 0;
  for (const auto& [sequence, part] : parts) {
    settle(*sequence, part, rows(output->logits, row, part.tokens.size()));
    row += part.tokens.size();
  }
}

TEST_P(ScheduleTest, AnyScheduleHasTheBitsOfFreshPrefills) {
  begin();
  begin();
  for (std::size_t step = 0; step < kSteps && !HasFatalFailure(); ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    switch (below(12)) {
      case 0:
        begin();
        break;
      case 1:
        fork();
        break;
      case 2:
        release();
        break;
      case 3:
        mark();
        break;
      case 4:
        cut();
        break;
      case 5:
        copy();
        break;
      default:
        round();
        break;
    }
  }
  for (const Expected& sequence : sequences_) {
    ASSERT_TRUE(states().release(sequence.id).ok());
  }
  EXPECT_EQ(states().free_rows(), fresh_.model().states().free_rows());
}

INSTANTIATE_TEST_SUITE_P(Fixtures, ScheduleTest, testing::ValuesIn(model_fixture_names()),
                         fixture_suffix);

}  // namespace
}  // namespace zllm::test
