#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include <zllm/kv_cache/slot_table.h>

namespace zllm::kv_cache {
namespace {

constexpr SequenceId kFirst(1);
constexpr SequenceId kSecond(2);

SlotTable table_with_first(std::uint32_t capacity) {
  SlotTable table(capacity);
  EXPECT_TRUE(table.create(kFirst).ok());
  return table;
}

void append(SlotTable& table, SequenceId id, std::uint64_t rows) {
  ASSERT_TRUE(table.reserve(id, rows, false).ok());
  ASSERT_TRUE(table.commit(id, rows).ok());
}

TEST(SlotTable, ARoundLeadsFromNothingToTheFirstSlotAndOn) {
  SlotTable table = table_with_first(3);
  EXPECT_FALSE(table.committed(kFirst)->has_value());
  const auto first = table.reserve(kFirst, 5, false);
  ASSERT_TRUE(first.ok());
  EXPECT_FALSE(first->from.has_value());
  ASSERT_TRUE(table.commit(kFirst, 5).ok());
  EXPECT_EQ(*table.committed(kFirst), first->to);
  EXPECT_EQ(*table.length(kFirst), 5u);
  const auto second = table.reserve(kFirst, 2, false);
  EXPECT_EQ(second->from, first->to);
  EXPECT_NE(second->to, first->to);
  EXPECT_EQ(*table.slot_count(kFirst), 2u);
  ASSERT_TRUE(table.rollback(kFirst).ok());
  EXPECT_EQ(*table.committed(kFirst), first->to);
  EXPECT_EQ(*table.length(kFirst), 5u);
  EXPECT_EQ(table.pool().free_count(), 2u);
}

TEST(SlotTable, KeepsAPartOfAJournaledRoundOnly) {
  SlotTable table = table_with_first(4);
  ASSERT_TRUE(table.reserve(kFirst, 4, false).ok());
  const Status refused = table.commit(kFirst, 2);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::invalid_argument);
  EXPECT_NE(refused.error().message.find("verify"), std::string::npos);
  EXPECT_TRUE(table.open_round(kFirst)->has_value());
  EXPECT_FALSE(table.commit(kFirst, 5).ok());
  EXPECT_FALSE(*table.needs_replay(kFirst, 4));
  EXPECT_FALSE(*table.needs_replay(kFirst, 0));
  ASSERT_TRUE(table.rollback(kFirst).ok());
  ASSERT_TRUE(table.reserve(kFirst, 4, true).ok());
  EXPECT_TRUE(*table.needs_replay(kFirst, 2));
  ASSERT_TRUE(table.commit(kFirst, 2).ok());
  EXPECT_EQ(*table.length(kFirst), 2u);
}

TEST(SlotTable, ARefusedReserveChangesNothing) {
  SlotTable table = table_with_first(1);
  append(table, kFirst, 3);
  const auto refused = table.reserve(kFirst, 1, false);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::resource_exhausted);
  EXPECT_FALSE(table.open_round(kFirst)->has_value());
  EXPECT_EQ(*table.length(kFirst), 3u);
  EXPECT_FALSE(table.reserve(kFirst, 0, false).ok());
  EXPECT_FALSE(table.reserve(kFirst, UINT64_MAX, false).ok());
  EXPECT_FALSE(table.reserve(SequenceId(9), 1, false).ok());
}

TEST(SlotTable, RefusesChangesOfAnOpenRound) {
  SlotTable table = table_with_first(4);
  append(table, kFirst, 3);
  ASSERT_TRUE(table.reserve(kFirst, 1, false).ok());
  EXPECT_FALSE(table.reserve(kFirst, 1, false).ok());
  EXPECT_FALSE(table.fork(kFirst, kSecond).ok());
  EXPECT_FALSE(table.truncate(kFirst, 0).ok());
  EXPECT_FALSE(table.checkpoint(kFirst).ok());
  ASSERT_TRUE(table.release(kFirst).ok());
  EXPECT_EQ(table.pool().free_count(), 4u);
}

TEST(SlotTable, TruncatesToTheLastCheckpointBefore) {
  SlotTable table = table_with_first(8);
  append(table, kFirst, 3);
  ASSERT_TRUE(table.checkpoint(kFirst).ok());
  ASSERT_TRUE(table.checkpoint(kFirst).ok());  // marks nothing twice
  EXPECT_EQ(*table.slot_count(kFirst), 1u);
  const auto marked = *table.committed(kFirst);
  append(table, kFirst, 4);
  EXPECT_EQ(*table.slot_count(kFirst), 2u);
  EXPECT_EQ(*table.truncate(kFirst, 7), 7u);
  EXPECT_FALSE(table.truncate(kFirst, 8).ok());
  EXPECT_EQ(*table.reachable(kFirst, 6), 3u);
  EXPECT_EQ(*table.truncate(kFirst, 6), 3u);
  EXPECT_EQ(*table.committed(kFirst), marked);
  EXPECT_EQ(*table.truncate(kFirst, 2), 0u);
  EXPECT_FALSE(table.committed(kFirst)->has_value());
  EXPECT_EQ(table.pool().free_count(), 8u);
}

TEST(SlotTable, DropsTheOldestCheckpoint) {
  SlotTable table = table_with_first(slots_for(1));
  for (std::uint64_t i = 0; i <= kCheckpoints; ++i) {
    append(table, kFirst, 1);
    ASSERT_TRUE(table.checkpoint(kFirst).ok());
  }
  append(table, kFirst, 1);
  EXPECT_EQ(*table.reachable(kFirst, 1), 0u);
  EXPECT_EQ(*table.reachable(kFirst, 2), 2u);
  // All that slots_for promises a sequence: its checkpoints, its state and an open round.
  EXPECT_TRUE(table.reserve(kFirst, 1, false).ok());
  EXPECT_EQ(table.pool().free_count(), 0u);
}

TEST(SlotTable, AForkSharesSlotsAndCheckpoints) {
  SlotTable table = table_with_first(8);
  append(table, kFirst, 3);
  ASSERT_TRUE(table.checkpoint(kFirst).ok());
  append(table, kFirst, 1);
  EXPECT_FALSE(table.fork(kFirst, kFirst).ok());
  ASSERT_TRUE(table.fork(kFirst, kSecond).ok());
  EXPECT_EQ(table.pool().free_count(), 6u);
  ASSERT_TRUE(table.release(kFirst).ok());
  EXPECT_EQ(table.pool().free_count(), 6u);
  EXPECT_EQ(*table.length(kSecond), 4u);
  EXPECT_EQ(*table.truncate(kSecond, 3), 3u);
  EXPECT_EQ(table.pool().free_count(), 7u);
}

TEST(SlotTable, SlotsForSaturates) {
  static_assert(slots_for(0) == 0);
  static_assert(slots_for(2) == 2 * (2 + kCheckpoints));
  static_assert(slots_for(UINT32_MAX) == UINT32_MAX);
}

// What a sequence should be: its rows, and those of its checkpoints.
struct Expected {
  std::vector<int> rows;
  std::vector<std::vector<int>> marks;

  void cut(std::uint64_t wanted) {
    if (wanted == rows.size()) {
      return;
    }
    while (!marks.empty() && marks.back().size() > wanted) {
      marks.pop_back();
    }
    rows = marks.empty() ? std::vector<int>() : marks.back();
  }

  void mark() {
    if (rows.empty() || (!marks.empty() && marks.back().size() == rows.size())) {
      return;
    }
    marks.push_back(rows);
    if (marks.size() > kCheckpoints) {
      marks.erase(marks.begin());
    }
  }
};

// A table with a store whose slot holds all rows up to its own.
class Schedule {
 public:
  void append(SequenceId id, Expected& expected) {
    const std::uint64_t rows = 1 + random_() % 5;
    const auto round = table_.reserve(id, rows, true);
    if (!round.ok()) {
      ASSERT_EQ(table_.pool().free_count(), 0u);
      return;
    }
    const std::uint64_t kept = random_() % (rows + 1);
    std::vector<int> state = round->from ? store_[round->from->value()] : std::vector<int>();
    for (std::uint64_t row = 0; row < kept; ++row) {
      state.push_back(next_value_++);
    }
    store_[round->to.value()] = state;
    ASSERT_TRUE(table_.commit(id, kept).ok());
    expected.rows = state;
  }

  void step() {
    const auto action = random_() % 10;
    if (expected_.empty() || (action == 0 && expected_.size() < 6)) {
      const SequenceId id(next_id_++);
      ASSERT_TRUE(table_.create(id).ok());
      expected_[id] = {};
      return;
    }
    const auto chosen =
        std::next(expected_.begin(), static_cast<long>(random_() % expected_.size()));
    auto& [id, expected] = *chosen;
    if (action == 1) {
      ASSERT_TRUE(table_.release(id).ok());
      expected_.erase(chosen);
    } else if (action == 2 && expected_.size() < 6) {
      const SequenceId copy(next_id_++);
      ASSERT_TRUE(table_.fork(id, copy).ok());
      const Expected same = expected;
      expected_[copy] = same;
    } else if (action == 3) {
      const std::uint64_t wanted = random_() % (expected.rows.size() + 1);
      expected.cut(wanted);
      ASSERT_EQ(*table_.truncate(id, wanted), expected.rows.size());
    } else if (action < 6) {
      ASSERT_TRUE(table_.checkpoint(id).ok());
      expected.mark();
    } else {
      append(id, expected);
    }
  }

  void check() {
    for (const auto& [id, expected] : expected_) {
      ASSERT_EQ(*table_.length(id), expected.rows.size());
      const auto slot = *table_.committed(id);
      ASSERT_EQ(slot.has_value(), !expected.rows.empty());
      if (slot) {
        ASSERT_EQ(store_[slot->value()], expected.rows);
      }
    }
  }

  std::uint32_t free_after_release() {
    for (const auto& [id, expected] : expected_) {
      EXPECT_TRUE(table_.release(id).ok());
    }
    return table_.pool().free_count();
  }

  static constexpr std::uint32_t kSlots = 16;

 private:
  std::mt19937 random_{5};
  SlotTable table_{kSlots};
  std::map<std::uint32_t, std::vector<int>> store_;
  std::map<SequenceId, Expected> expected_;
  std::uint64_t next_id_ = 1;
  int next_value_ = 0;
};

TEST(SlotTable, RandomSchedulesKeepEveryState) {
  Schedule schedule;
  for (int step = 0; step < 4000 && !testing::Test::HasFatalFailure(); ++step) {
    schedule.step();
    schedule.check();
  }
  EXPECT_EQ(schedule.free_after_release(), Schedule::kSlots);
}

}  // namespace
}  // namespace zllm::kv_cache
