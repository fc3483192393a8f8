#include <algorithm>
#include <cstddef>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "model_test.h"

// Stages chained in one process, the boundary between them as the bytes that a transport carries.
namespace zllm::test {
namespace {

using runtime::Boundary;
using runtime::Round;
using runtime::RoundOutput;
using runtime::SegmentKind;

// A sequence has an id of its own in every stage.
using Ids = std::vector<SequenceId>;

class StageTest : public ModelTest {
 protected:
  StageTest() : whole_(load_fixture(fixture_)) {}

  std::uint32_t layers() { return whole_.model().info().layers; }

  // Stages that end before each of the cuts and at the last layer.
  void load(const std::vector<std::uint32_t>& cuts) {
    stages_.clear();
    std::uint32_t from = 0;
    for (std::size_t i = 0; i <= cuts.size(); ++i) {
      const std::uint32_t end = i < cuts.size() ? cuts[i] : layers();
      stages_.push_back(load_fixture(fixture_, {.stage = {.first = from, .end = end}}));
      from = end;
    }
  }

  Ids create_everywhere() {
    Ids ids;
    for (registry::Model& stage : stages_) {
      ids.push_back(create(stage.model()));
    }
    return ids;
  }

  // One stage's round of a part; the boundary has been bytes before and is them after.
  RoundOutput submit(std::size_t stage, const Ids& ids, Part part,
                     const std::vector<std::byte>& input) {
    part.sequence = ids[stage];
    Round round{{segment_of(part)}};
    if (stage != 0) {
      auto boundary = runtime::boundary_from_bytes(input);
      EXPECT_TRUE(boundary.ok()) << boundary.error().message;
      round.input = *std::move(boundary);
    }
    auto output = stages_[stage].model().submit(round);
    EXPECT_TRUE(output.ok()) << output.error().message;
    EXPECT_EQ(output->boundary.has_value(), stage + 1 != stages_.size());
    return *std::move(output);
  }

  void commit(std::size_t stage, const Ids& ids, std::uint64_t rows) {
    const Status kept = stages_[stage].model().states().commit(ids[stage], rows);
    ASSERT_TRUE(kept.ok()) << kept.error().message;
  }

  // All stages one after the other; every one keeps `kept` rows.
  Logits run(const Ids& ids, const Part& part, std::uint64_t kept) {
    std::vector<std::byte> bytes;
    Logits logits;
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
      RoundOutput output = submit(stage, ids, part, bytes);
      bytes = output.boundary ? runtime::to_bytes(*output.boundary) : std::vector<std::byte>();
      logits = std::move(output.logits);
    }
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
      commit(stage, ids, kept);
    }
    return logits;
  }

  // A prefill in two chunks, drafts of which a part is kept, then row by row.
  void expect_whole_bits(const std::string& what) {
    const Logits expected = whole(whole_.model());
    const Ids ids = create_everywhere();
    const std::size_t drafted = length() / 2 + 1;
    run(ids, {.start = 0, .tokens = tokens(0, 4)}, 4);
    run(ids, {.start = 4, .tokens = tokens(4, drafted - 4)}, drafted - 4);
    Part draft{.start = drafted, .tokens = tokens(drafted, 2), .kind = SegmentKind::verify};
    draft.tokens.insert(draft.tokens.end(), {wrong_token(0), wrong_token(1)});
    expect_same_bits(rows(run(ids, draft, 2), 0, 2), rows(expected, drafted, 2), what);
    for (std::size_t row = drafted + 2; row < length(); ++row) {
      const Part part{.start = row, .tokens = tokens(row, 1), .kind = SegmentKind::decode};
      expect_same_bits(run(ids, part, 1), rows(expected, row, 1), what);
    }
  }

  registry::Model whole_;
  std::vector<registry::Model> stages_;
};

TEST_P(StageTest, TwoStagesHaveTheBitsOfTheWholeAtEveryCut) {
  for (std::uint32_t cut = 1; cut < layers(); ++cut) {
    load({cut});
    expect_whole_bits("cut at " + std::to_string(cut));
  }
}

TEST_P(StageTest, ThreeStagesHaveTheBitsOfTheWholeAtEveryCut) {
  for (std::uint32_t first = 1; first + 1 < layers(); ++first) {
    for (std::uint32_t second = first + 1; second < layers(); ++second) {
      load({first, second});
      expect_whole_bits("cuts at " + std::to_string(first) + " and " + std::to_string(second));
    }
  }
}

// Chunks of several sequences in flight: the first stage is always `kLag` chunks ahead.
TEST_P(StageTest, ChunksOfSeveralSequencesMayBeInFlight) {
  constexpr std::size_t kLag = 4;
  constexpr std::size_t kChunk = 5;
  struct Run {
    std::vector<TokenId> tokens;
    Ids ids;
    Logits logits;
  };
  struct Chunk {
    Run *run = nullptr;
    Part part;
    std::vector<std::byte> boundary;
  };
  load({layers() / 2});
  std::vector<Run> runs;
  for (const std::size_t skipped : {std::size_t{0}, std::size_t{4}, length() / 3}) {
    runs.push_back(
        {.tokens = tokens(skipped, length() - skipped), .ids = create_everywhere(), .logits = {}});
  }
  std::deque<Chunk> in_flight;
  const auto retire = [&] {
    const Chunk chunk = std::move(in_flight.front());
    in_flight.pop_front();
    const RoundOutput output = submit(1, chunk.run->ids, chunk.part, chunk.boundary);
    commit(1, chunk.run->ids, chunk.part.tokens.size());
    Logits& logits = chunk.run->logits;
    logits.insert(logits.end(), output.logits.begin(), output.logits.end());
  };
  for (std::size_t start = 0; start < length(); start += kChunk) {
    for (Run& run : runs) {
      if (start >= run.tokens.size()) {
        continue;
      }
      const auto left = std::span(run.tokens).subspan(start);
      const auto chunk = left.first(std::min(kChunk, left.size()));
      const Part part{.start = start, .tokens = {chunk.begin(), chunk.end()}};
      const RoundOutput output = submit(0, run.ids, part, {});
      commit(0, run.ids, chunk.size());
      in_flight.push_back({&run, part, runtime::to_bytes(*output.boundary)});
      if (in_flight.size() > kLag) {
        retire();
      }
    }
  }
  while (!in_flight.empty()) {
    retire();
  }
  for (const Run& run : runs) {
    expect_same_bits(run.logits, whole(whole_.model(), run.tokens), "in flight");
  }
}

// The first stage learns what is kept of a draft only after other sequences have gone on.
TEST_P(StageTest, ADraftMayWaitWhileOthersGoOn) {
  load({layers() - 1});
  const Logits expected = whole(whole_.model());
  const Ids first = create_everywhere();
  const Ids second = create_everywhere();
  run(first, {.start = 0, .tokens = tokens(0, 6)}, 6);
  Part draft{.start = 6, .tokens = tokens(6, 3), .kind = SegmentKind::verify};
  draft.tokens.push_back(wrong_token(9));
  const RoundOutput ahead = submit(0, first, draft, {});
  run(second, {.start = 0, .tokens = tokens(0, 8)}, 8);
  const auto bytes = runtime::to_bytes(*ahead.boundary);
  expect_same_bits(rows(submit(1, first, draft, bytes).logits, 0, 3), rows(expected, 6, 3),
                   "draft");
  commit(1, first, 2);
  expect_same_bits(run(second, {.start = 8, .tokens = tokens(8, 2)}, 2), rows(expected, 8, 2),
                   "second");
  commit(0, first, 2);
  expect_same_bits(run(first, {.start = 8, .tokens = tokens(8, 5)}, 5), rows(expected, 8, 5),
                   "first");
}

INSTANTIATE_TEST_SUITE_P(Fixtures, StageTest, testing::ValuesIn(stageable_fixture_names()),
                         fixture_suffix);

}  // namespace
}  // namespace zllm::test
