#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include <zllm/runtime/paged_states.h>
#include <zllm/runtime/recurrent_states.h>
#include <zllm/runtime/toy_backend_test-inl.h>

namespace zllm::runtime {
namespace {

using Paged = PagedStates<toy::Backend>;
using Recurrent = RecurrentStates<toy::Backend>;

static_assert(backend::PagedBackend<toy::Backend> && backend::SlotBackend<toy::Backend>);

constexpr std::uint64_t kContext = 1000;

struct Sizes {
  std::uint32_t pages = 16;
  std::uint32_t slots = 16;
  std::uint32_t sequences = 8;
};

// States over the toy backend, and rounds on them.
template <class States>
class Bench {
 public:
  static constexpr bool kIsRecurrent = std::is_same_v<States, Recurrent>;

  explicit Bench(Sizes sizes) {
    const backend::PagedCacheSpec pages{.planes = {}, .pages = sizes.pages};
    const backend::SlotCacheSpec slots{.planes = {}, .slots = sizes.slots};
    if constexpr (kIsRecurrent) {
      states_ = std::make_unique<States>(
          backend_,
          RecurrentStore<toy::Backend>{.pages = std::move(*backend_.paged_cache(pages)),
                                       .page_spec = pages,
                                       .slots = std::move(*backend_.slot_cache(slots)),
                                       .slot_spec = slots,
                                       .sequences = sizes.sequences},
          kContext);
    } else {
      states_ = std::make_unique<States>(backend_, std::move(*backend_.paged_cache(pages)), pages,
                                         kContext);
    }
  }

  States& states() { return *states_; }
  toy::Backend& backend() { return backend_; }

  // Reserves a round and writes its rows; nothing is committed.
  Status submit(const Round& round) {
    ZLLM_TRY(states_->reserve(round));
    ZLLM_TRY(const auto pages, states_->segments(round));
    for (std::size_t i = 0; i < pages.size(); ++i) {
      backend_.store(states_->cache(), pages[i], round.segments[i].tokens);
    }
    if constexpr (kIsRecurrent) {
      ZLLM_TRY(const auto slots, states_->slot_segments(round));
      for (std::size_t i = 0; i < slots.size(); ++i) {
        EXPECT_EQ(slots[i].first_row, pages[i].first_row);
        EXPECT_EQ(slots[i].rows, pages[i].rows);
        EXPECT_EQ(slots[i].position, pages[i].position);
        backend_.recur(states_->slots(), slots[i], round.segments[i].tokens);
      }
    }
    return {};
  }

  Status append(SequenceId id, const std::vector<TokenId>& rows) {
    ZLLM_TRY(submit(round_of(id, rows, SegmentKind::append_prefill)));
    return states_->commit(id, rows.size());
  }

  // One segment on the rows that the sequence has.
  Round round_of(SequenceId id, const std::vector<TokenId>& rows, SegmentKind kind) {
    return Round{.segments = {{.sequence = id,
                               .start = states_->rows(id).ok() ? *states_->rows(id) : 0,
                               .kind = kind,
                               .tokens = rows,
                               .logit_rows = {}}}};
  }

  // Whether the sequence's state is that after exactly these rows.
  void expect_state(SequenceId id, const std::vector<TokenId>& rows) {
    ASSERT_EQ(*states_->rows(id), rows.size());
    const auto snapshot = states_->export_state(id);
    ASSERT_TRUE(snapshot.ok()) << snapshot.error().message;
    const std::size_t pages =
        (rows.size() + toy::Backend::kPageTokens - 1) / toy::Backend::kPageTokens;
    const std::size_t state = kIsRecurrent && !rows.empty() ? sizeof(std::uint64_t) : 0;
    ASSERT_EQ(snapshot->bytes.size(), pages * toy::Backend::kPageBytes + state);
    std::uint64_t hash = 0;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      TokenId kept = 0;
      std::memcpy(&kept, snapshot->bytes.data() + row * sizeof(TokenId), sizeof(TokenId));
      ASSERT_EQ(kept, rows[row]) << "row " << row;
      hash = toy::chain(hash, rows[row]);
    }
    if (state != 0) {
      std::uint64_t kept = 0;
      std::memcpy(&kept, snapshot->bytes.data() + snapshot->bytes.size() - state, state);
      ASSERT_EQ(kept, hash);
    }
  }

  // What was taken since there was so much room.
  std::uint64_t used_bytes(std::pair<std::uint64_t, std::uint32_t> before) {
    const auto [rows, slots] = room();
    return (before.first - rows) * sizeof(TokenId) +
           (before.second - slots) * sizeof(std::uint64_t);
  }

  // Free pages and slots in one number pair.
  std::pair<std::uint64_t, std::uint32_t> room() {
    if constexpr (kIsRecurrent) {
      return {states_->free_rows(), states_->free_slots()};
    } else {
      return {states_->free_rows(), 0};
    }
  }

 private:
  toy::Backend backend_;
  std::unique_ptr<States> states_;
};

bool names(const Status& status, std::string_view text) {
  return !status.ok() && status.error().message.find(text) != std::string::npos;
}

TEST(PagedStates, AreCutAnywhereAndNeedNoCheckpoint) {
  Bench<Paged> bench({});
  const SequenceId id = *bench.states().create(0);
  ASSERT_TRUE(bench.append(id, {1, 2, 3, 4, 5, 6}).ok());
  EXPECT_TRUE(bench.states().checkpoint(id).ok());
  EXPECT_TRUE(bench.states().restore(id, 5).ok());
  bench.expect_state(id, {1, 2, 3, 4, 5});
  EXPECT_FALSE(bench.states().restore(id, 6).ok());
  EXPECT_EQ(*bench.states().truncate(id, 3), 3u);
  bench.expect_state(id, {1, 2, 3});
  EXPECT_FALSE(bench.states().checkpoint(SequenceId(99)).ok());
}

TEST(RecurrentStates, AreCutAtCheckpointsAndPagesWithThem) {
  Bench<Recurrent> bench({});
  const SequenceId id = *bench.states().create(0);
  ASSERT_TRUE(bench.append(id, {1, 2, 3, 4, 5}).ok());
  ASSERT_TRUE(bench.states().checkpoint(id).ok());
  ASSERT_TRUE(bench.append(id, {6, 7, 8, 9}).ok());
  const auto room = bench.room();
  EXPECT_TRUE(names(bench.states().restore(id, 7), "at 5"));
  EXPECT_EQ(bench.room(), room);
  bench.expect_state(id, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_EQ(*bench.states().truncate(id, 7), 5u);
  bench.expect_state(id, {1, 2, 3, 4, 5});
  ASSERT_TRUE(bench.append(id, {10}).ok());
  ASSERT_TRUE(bench.states().restore(id, 5).ok());
  bench.expect_state(id, {1, 2, 3, 4, 5});
  EXPECT_EQ(*bench.states().truncate(id, 4), 0u);
  bench.expect_state(id, {});
  EXPECT_EQ(*bench.states().size_bytes(id), 0u);
  ASSERT_TRUE(bench.append(id, {11}).ok());
  bench.expect_state(id, {11});
}

TEST(RecurrentStates, KeepAnyPartOfAVerifySegment) {
  for (std::uint64_t kept = 0; kept <= 4; ++kept) {
    Bench<Recurrent> bench({});
    const SequenceId id = *bench.states().create(0);
    ASSERT_TRUE(bench.append(id, {1, 2, 3}).ok());
    ASSERT_TRUE(bench.submit(bench.round_of(id, {4, 5, 6, 7}, SegmentKind::verify)).ok());
    ASSERT_TRUE(bench.states().commit(id, kept).ok());
    std::vector<TokenId> rows = {1, 2, 3, 4, 5, 6, 7};
    rows.resize(3 + kept);
    bench.expect_state(id, rows);
  }
}

TEST(RecurrentStates, RefuseAPartOfOtherSegmentsAndVerifyBeyondTheJournal) {
  Bench<Recurrent> bench({});
  const SequenceId id = *bench.states().create(0);
  ASSERT_TRUE(bench.submit(bench.round_of(id, {4, 5, 6}, SegmentKind::new_prefill)).ok());
  const Status refused = bench.states().commit(id, 2);
  EXPECT_TRUE(names(refused, "verify"));
  EXPECT_EQ(refused.error().code, Code::invalid_argument);
  EXPECT_FALSE(bench.states().export_state(id).ok());
  ASSERT_TRUE(bench.states().commit(id, 3).ok());
  bench.expect_state(id, {4, 5, 6});
  const std::vector<TokenId> most(backend::kJournalRows, 1);
  ASSERT_TRUE(bench.submit(bench.round_of(id, most, SegmentKind::verify)).ok());
  ASSERT_TRUE(bench.states().rollback(id).ok());
  const std::vector<TokenId> more(backend::kJournalRows + 1, 1);
  EXPECT_TRUE(names(bench.submit(bench.round_of(id, more, SegmentKind::verify)), "verify of 17"));
  bench.expect_state(id, {4, 5, 6});
}

TEST(RecurrentStates, ARoundIsReservedAsAWholeOrNotAtAll) {
  Bench<Recurrent> no_slot({.pages = 16, .slots = 3});
  const SequenceId first = *no_slot.states().create(0);
  const SequenceId second = *no_slot.states().create(0);
  ASSERT_TRUE(no_slot.append(first, {1}).ok());
  ASSERT_TRUE(no_slot.append(second, {2}).ok());
  Round both = no_slot.round_of(first, {3}, SegmentKind::decode);
  both.segments.push_back(no_slot.round_of(second, {4}, SegmentKind::decode).segments[0]);
  const auto room = no_slot.room();
  const Status short_of_slots = no_slot.submit(both);
  EXPECT_TRUE(names(short_of_slots, "all 3 slots"));
  EXPECT_EQ(short_of_slots.error().code, Code::resource_exhausted);
  EXPECT_EQ(no_slot.room(), room);
  no_slot.expect_state(first, {1});
  // One row at a time still goes, and with the last slot taken there is no room for anyone.
  ASSERT_TRUE(no_slot.submit(no_slot.round_of(first, {3}, SegmentKind::decode)).ok());
  EXPECT_EQ(no_slot.states().free_rows(), 0u);
  ASSERT_TRUE(no_slot.states().commit(first, 1).ok());
  EXPECT_GT(no_slot.states().free_rows(), 0u);

  Bench<Recurrent> no_page({.pages = 2});
  const SequenceId id = *no_page.states().create(0);
  ASSERT_TRUE(no_page.append(id, {1, 2, 3}).ok());
  const auto before = no_page.room();
  const std::vector<TokenId> too_long(6, 7);
  EXPECT_TRUE(names(no_page.submit(no_page.round_of(id, too_long, SegmentKind::append_prefill)),
                    "free pages"));
  EXPECT_EQ(no_page.room(), before);
  no_page.expect_state(id, {1, 2, 3});
  Round wrong_start = no_page.round_of(id, {1}, SegmentKind::decode);
  wrong_start.segments[0].start = 2;
  EXPECT_TRUE(names(no_page.submit(wrong_start), "starts at 2"));
  EXPECT_EQ(no_page.room(), before);
}

TEST(RecurrentStates, RefuseMoreSequencesThanAnnounced) {
  Bench<Recurrent> bench({.slots = kv_cache::slots_for(2), .sequences = 2});
  const SequenceId id = *bench.states().create(0);
  ASSERT_TRUE(bench.append(id, {1, 2}).ok());
  const auto snapshot = bench.states().export_state(id);
  const SequenceId copy = *bench.states().fork(id);
  const auto refused = bench.states().create(0);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::resource_exhausted);
  EXPECT_NE(refused.error().message.find("2 sequences"), std::string::npos);
  EXPECT_FALSE(bench.states().fork(id).ok());
  EXPECT_FALSE(bench.states().import_state(*snapshot).ok());
  ASSERT_TRUE(bench.states().release(copy).ok());
  EXPECT_TRUE(bench.states().import_state(*snapshot).ok());
}

TEST(RecurrentStates, AFailingBackendChangesNothing) {
  Bench<Recurrent> bench({});
  const SequenceId id = *bench.states().create(0);
  ASSERT_TRUE(bench.append(id, {1, 2, 3}).ok());
  const SequenceId copy = *bench.states().fork(id);
  const auto room = bench.room();
  bench.backend().fail_copies = true;
  EXPECT_TRUE(names(bench.append(copy, {4}), "copy_pages failed"));
  EXPECT_EQ(bench.room(), room);
  bench.expect_state(copy, {1, 2, 3});
  ASSERT_TRUE(bench.append(copy, {4}).ok());
  bench.expect_state(id, {1, 2, 3});
  bench.expect_state(copy, {1, 2, 3, 4});

  ASSERT_TRUE(bench.submit(bench.round_of(copy, {5, 6}, SegmentKind::verify)).ok());
  bench.backend().fail_replay = true;
  EXPECT_TRUE(names(bench.states().commit(copy, 1), "replay failed"));
  ASSERT_TRUE(bench.states().rollback(copy).ok());
  bench.expect_state(copy, {1, 2, 3, 4});

  const auto snapshot = *bench.states().export_state(copy);
  const auto before = bench.room();
  bench.backend().fail_import_slot = true;
  EXPECT_FALSE(bench.states().import_state(snapshot).ok());
  EXPECT_EQ(bench.room(), before);
}

template <class States>
class EveryStates : public testing::Test {};
using Kinds = testing::Types<Paged, Recurrent>;
TYPED_TEST_SUITE(EveryStates, Kinds);

TYPED_TEST(EveryStates, RefuseSnapshotsOfAnotherSize) {
  Bench<TypeParam> bench({});
  const SequenceId id = *bench.states().create(77);
  ASSERT_TRUE(bench.append(id, {1, 2, 3, 4, 5}).ok());
  const SequenceSnapshot good = *bench.states().export_state(id);
  EXPECT_EQ(good.expected_rows, 77u);
  const auto room = bench.room();
  SequenceSnapshot bad = good;
  bad.bytes.pop_back();
  EXPECT_FALSE(bench.states().import_state(bad).ok());
  bad = good;
  bad.rows = 9;
  EXPECT_FALSE(bench.states().import_state(bad).ok());
  bad.rows = 0;
  EXPECT_FALSE(bench.states().import_state(bad).ok());
  bad.rows = UINT64_MAX;
  EXPECT_FALSE(bench.states().import_state(bad).ok());
  EXPECT_EQ(bench.room(), room);
  const SequenceId copy = *bench.states().import_state(good);
  bench.expect_state(copy, {1, 2, 3, 4, 5});
  EXPECT_EQ(*bench.states().size_bytes(copy), *bench.states().size_bytes(id));
}

// What a sequence should be: its rows and the lengths of its checkpoints.
struct Plain {
  std::vector<TokenId> rows;
  std::vector<std::uint64_t> marks;

  std::uint64_t reachable(std::uint64_t wanted, bool is_exact) const {
    if (is_exact || wanted == rows.size()) {
      return wanted;
    }
    std::uint64_t reached = 0;
    for (const std::uint64_t mark : marks) {
      reached = mark <= wanted ? mark : reached;
    }
    return reached;
  }

  void cut(std::uint64_t reached) {
    rows.resize(reached);
    while (!marks.empty() && marks.back() > reached) {
      marks.pop_back();
    }
  }

  void mark() {
    if (!rows.empty() && (marks.empty() || marks.back() != rows.size())) {
      marks.push_back(rows.size());
    }
    if (marks.size() > kv_cache::kCheckpoints) {
      marks.erase(marks.begin());
    }
  }
};

// Random schedules on states, next to token lists.
template <class States>
class Schedule {
 public:
  explicit Schedule(std::uint32_t seed)
      : random_(seed), bench_({.pages = 24, .slots = 14, .sequences = 6}), start_(bench_.room()) {}

  void step() {
    const auto action = below(10);
    if (plain_.empty() || (action == 0 && plain_.size() < 6)) {
      plain_[*bench_.states().create(0)] = {};
    } else if (action == 1) {
      const auto chosen = pick();
      ASSERT_TRUE(bench_.states().release(chosen->first).ok());
      plain_.erase(chosen);
    } else if (action == 2) {
      duplicate(*pick());
    } else if (action == 3) {
      cut(*pick());
    } else if (action == 4) {
      auto& [id, plain] = *pick();
      ASSERT_TRUE(bench_.states().checkpoint(id).ok());
      plain.mark();
    } else {
      round();
    }
  }

  void check() {
    std::vector<SequenceId> all;
    for (const auto& [id, plain] : plain_) {
      bench_.expect_state(id, plain.rows);
      all.push_back(id);
    }
    const HeldBytes held = bench_.states().held_bytes(all);
    EXPECT_EQ(held.all, bench_.used_bytes(start_));
    EXPECT_EQ(held.alone, held.all);
  }

  void release_all() {
    for (const auto& [id, plain] : plain_) {
      ASSERT_TRUE(bench_.states().release(id).ok());
    }
    EXPECT_EQ(bench_.room(), start_);
  }

  int refused = 0;

 private:
  using Entry = std::pair<const SequenceId, Plain>;

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  auto pick() { return std::next(plain_.begin(), static_cast<long>(below(plain_.size()))); }

  // By fork, or by export and import, which carries no checkpoints.
  void duplicate(const Entry& entry) {
    const bool by_fork = below(2) == 0;
    Plain same = entry.second;
    Result<SequenceId> copy = Error{};
    if (by_fork) {
      copy = bench_.states().fork(entry.first);
    } else {
      copy = bench_.states().import_state(*bench_.states().export_state(entry.first));
      same.marks.clear();
    }
    if (copy.ok()) {
      plain_[*copy] = same;
      return;
    }
    ASSERT_EQ(copy.error().code, Code::resource_exhausted);
    ++refused;
  }

  void cut(Entry& entry) {
    auto& [id, plain] = entry;
    const std::uint64_t wanted = below(plain.rows.size() + 1);
    const std::uint64_t reached = plain.reachable(wanted, !Bench<States>::kIsRecurrent);
    if (below(2) == 0) {
      ASSERT_EQ(bench_.states().restore(id, wanted).ok(), reached == wanted);
      if (reached != wanted) {
        return;
      }
    } else {
      ASSERT_EQ(*bench_.states().truncate(id, wanted), reached);
    }
    plain.cut(reached);
  }

  // A round of some sequences, each segment verified, appended or rolled back by itself.
  void round() {
    Round round;
    for (const auto& [id, plain] : plain_) {
      if (below(2) == 0) {
        continue;
      }
      std::vector<TokenId> rows(1 + below(7));
      for (TokenId& row : rows) {
        row = next_++;
      }
      const SegmentKind kind = below(2) == 0 ? SegmentKind::verify : SegmentKind::append_prefill;
      round.segments.push_back(bench_.round_of(id, rows, kind).segments[0]);
    }
    const auto room = bench_.room();
    if (Status submitted = bench_.submit(round); !submitted.ok()) {
      ASSERT_EQ(submitted.error().code, Code::resource_exhausted);
      ASSERT_EQ(bench_.room(), room);
      ++refused;
      return;
    }
    for (const Segment& segment : round.segments) {
      const std::uint64_t count = segment.tokens.size();
      const bool is_verify = segment.kind == SegmentKind::verify;
      const std::uint64_t kept = is_verify ? below(count + 1) : below(4) == 0 ? 0 : count;
      ASSERT_TRUE(bench_.states().commit(segment.sequence, kept).ok());
      std::vector<TokenId>& rows = plain_[segment.sequence].rows;
      rows.insert(rows.end(), segment.tokens.begin(),
                  segment.tokens.begin() + static_cast<std::ptrdiff_t>(kept));
    }
  }

  std::mt19937 random_;
  Bench<States> bench_;
  std::pair<std::uint64_t, std::uint32_t> start_;
  std::map<SequenceId, Plain> plain_;
  TokenId next_ = 1;
};

TYPED_TEST(EveryStates, RandomSchedulesEqualTokenListsAndLeakNothing) {
  int refused = 0;
  for (std::uint32_t seed = 0; seed < 8; ++seed) {
    SCOPED_TRACE(seed);
    Schedule<TypeParam> schedule(seed);
    for (int step = 0; step < 600; ++step) {
      SCOPED_TRACE(step);
      schedule.step();
      schedule.check();
      if (this->HasFatalFailure()) {
        return;
      }
    }
    schedule.release_all();
    refused += schedule.refused;
  }
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace zllm::runtime
