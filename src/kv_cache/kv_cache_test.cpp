#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include <zllm/kv_cache/reference_pool.h>
#include <zllm/kv_cache/sequence_table.h>

namespace zllm::kv_cache {
namespace {

TEST(ReferencePool, CountsReferencesAndReusesTheLowestPlace) {
  PagePool pool(2);
  const PageId a = *pool.allocate();
  const PageId b = *pool.allocate();
  EXPECT_FALSE(pool.allocate());
  pool.share(a);
  pool.release(a);
  EXPECT_EQ(pool.free_count(), 0u);
  pool.release(b);
  pool.release(a);
  EXPECT_EQ(pool.free_count(), 2u);
  EXPECT_EQ(*pool.allocate(), a);
}

TEST(ReferencePoolDeathTest, ReleaseOfAFreePageIsABrokenInvariant) {
  PagePool pool(1);
  EXPECT_DEATH(pool.release(PageId(0)), "release of a free page or slot");
}

TEST(SequenceTable, ReservesCommitsAndGivesBack) {
  SequenceTable table(4, 3);
  const SequenceId id = table.create();
  ASSERT_TRUE(table.reserve(id, 9).ok());
  EXPECT_EQ(table.pool().free_count(), 0u);
  EXPECT_FALSE(table.reserve(id, 1).ok());
  ASSERT_TRUE(table.commit(id, 5).ok());
  EXPECT_EQ(*table.length(id), 5u);
  EXPECT_EQ(table.pool().free_count(), 1u);
  ASSERT_TRUE(table.reserve(id, 7).ok());
  ASSERT_TRUE(table.rollback(id).ok());
  EXPECT_EQ(*table.length(id), 5u);
  EXPECT_EQ(table.pool().free_count(), 1u);
}

TEST(SequenceTable, ARefusedReserveChangesNothing) {
  SequenceTable table(4, 2);
  const SequenceId id = table.create();
  ASSERT_TRUE(table.reserve(id, 3).ok());
  ASSERT_TRUE(table.commit(id, 3).ok());
  const auto refused = table.reserve(id, 6);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::resource_exhausted);
  EXPECT_FALSE(table.reserve(id, UINT64_MAX).ok());
  EXPECT_FALSE(table.reserve(id, 0).ok());
  EXPECT_EQ(*table.length(id), 3u);
  EXPECT_EQ(*table.reserved(id), 0u);
  EXPECT_EQ(table.pool().free_count(), 1u);
}

TEST(SequenceTable, AForkCopiesThePartialPageWhenItWrites) {
  SequenceTable table(4, 8);
  const SequenceId parent = table.create();
  ASSERT_TRUE(table.reserve(parent, 6).ok());
  ASSERT_TRUE(table.commit(parent, 6).ok());
  const SequenceId child = *table.fork(parent);
  EXPECT_EQ(table.pool().free_count(), 6u);
  const PageId shared = (*table.pages(parent))[1];
  const auto copies = table.reserve(child, 1);
  ASSERT_EQ(copies->size(), 1u);
  EXPECT_EQ((*copies)[0].from, shared);
  EXPECT_EQ((*table.pages(child))[1], (*copies)[0].to);
  EXPECT_EQ((*table.pages(child))[0], (*table.pages(parent))[0]);
  ASSERT_TRUE(table.commit(child, 1).ok());
  // The parent is alone on its page again, so it writes in place.
  EXPECT_TRUE(table.reserve(parent, 1)->empty());
}

TEST(SequenceTable, ARollbackGivesTheCopyBack) {
  SequenceTable table(4, 8);
  const SequenceId parent = table.create();
  ASSERT_TRUE(table.reserve(parent, 6).ok());
  ASSERT_TRUE(table.commit(parent, 6).ok());
  const SequenceId child = *table.fork(parent);
  ASSERT_EQ(table.reserve(child, 5)->size(), 1u);
  // The page waits for the end of the round, so nobody else may write into it.
  EXPECT_EQ(table.reserve(parent, 1)->size(), 1u);
  ASSERT_TRUE(table.rollback(parent).ok());
  ASSERT_TRUE(table.rollback(child).ok());
  EXPECT_TRUE(std::ranges::equal(*table.pages(child), *table.pages(parent)));
  EXPECT_EQ(*table.reserved(child), 0u);
  EXPECT_EQ(table.pool().free_count(), 6u);
  // An open round that goes with its sequence leaves nothing behind.
  ASSERT_EQ(table.reserve(child, 1)->size(), 1u);
  ASSERT_TRUE(table.release(parent).ok());
  ASSERT_TRUE(table.release(child).ok());
  EXPECT_EQ(table.pool().free_count(), 8u);
}

TEST(SequenceTable, CountsWhatSomeHoldAloneAndTogether) {
  SequenceTable table(4, 10);
  const SequenceId first = table.create();
  ASSERT_TRUE(table.reserve(first, 10).ok());
  ASSERT_TRUE(table.commit(first, 10).ok());
  const SequenceId second = *table.fork(first);
  ASSERT_TRUE(table.reserve(second, 4).ok());
  const auto held = [&](std::vector<SequenceId> ids) {
    const HeldPlaces<PageId> places = table.held(ids);
    return std::pair(places.all(), places.alone());
  };
  // Of four pages of the second one is a copy; what it copied is its own until it commits.
  EXPECT_EQ(held({second}), std::pair(5ul, 2ul));
  EXPECT_EQ(held({first, second}), std::pair(5ul, 5ul));
  ASSERT_TRUE(table.commit(second, 4).ok());
  EXPECT_EQ(held({first}), std::pair(3ul, 1ul));
  EXPECT_EQ(held({second}), std::pair(4ul, 2ul));
  EXPECT_EQ(held({}), std::pair(0ul, 0ul));
}

TEST(SequenceTable, SharesWholePagesOfRowsThatAreTheSame) {
  SequenceTable table(4, 10);
  const SequenceId from = table.create();
  const SequenceId to = table.create();
  ASSERT_TRUE(table.reserve(from, 11).ok());
  ASSERT_TRUE(table.commit(from, 11).ok());
  ASSERT_TRUE(table.reserve(to, 12).ok());
  EXPECT_FALSE(table.share(from, to, 4).ok());
  ASSERT_TRUE(table.commit(to, 12).ok());
  EXPECT_FALSE(table.share(from, to, 12).ok());
  EXPECT_EQ(table.pool().free_count(), 4u);
  ASSERT_TRUE(table.share(from, to, 11).ok());
  EXPECT_EQ(table.pool().free_count(), 6u);
  ASSERT_TRUE(table.share(from, to, 11).ok());
  EXPECT_EQ(table.pool().free_count(), 6u);
  EXPECT_EQ((*table.pages(to))[1], (*table.pages(from))[1]);
  EXPECT_NE((*table.pages(to))[2], (*table.pages(from))[2]);
  ASSERT_TRUE(table.release(from).ok());
  ASSERT_TRUE(table.release(to).ok());
  EXPECT_EQ(table.pool().free_count(), 10u);
}

TEST(SequenceTable, RefusesWhatItDoesNotKnow) {
  SequenceTable table(4, 8);
  EXPECT_EQ(table.release(SequenceId(7)).error().code, Code::not_found);
  const SequenceId id = table.create();
  ASSERT_TRUE(table.release(id).ok());
  EXPECT_FALSE(table.length(id).ok());
  EXPECT_NE(table.create(), id);
}

// Random schedules against a model that keeps the written value of every row.
TEST(SequenceTable, RandomSchedulesKeepEveryRow) {
  constexpr std::uint32_t kPageTokens = 4;
  std::mt19937 random(11);
  SequenceTable table(kPageTokens, 24);
  std::map<std::uint32_t, std::vector<int>> store;
  std::map<SequenceId, std::vector<int>> expected;
  int next_value = 0;
  for (int step = 0; step < 4000; ++step) {
    const auto pick = [&] {
      return std::next(expected.begin(), static_cast<long>(random() % expected.size()));
    };
    const auto action = random() % 8;
    if (expected.empty() || (action == 0 && expected.size() < 6)) {
      expected[table.create()] = {};
    } else if (action == 1) {
      const auto chosen = pick();
      ASSERT_TRUE(table.release(chosen->first).ok());
      expected.erase(chosen);
    } else if (action == 2 && expected.size() < 6) {
      const auto chosen = pick();
      const std::vector<int> rows = chosen->second;
      expected[*table.fork(chosen->first)] = rows;
    } else if (action == 3) {
      const auto chosen = pick();
      const std::size_t kept = random() % (chosen->second.size() + 1);
      ASSERT_TRUE(table.truncate(chosen->first, kept).ok());
      chosen->second.resize(kept);
    } else {
      const auto chosen = pick();
      const std::uint64_t rows = 1 + random() % 9;
      const auto copies = table.reserve(chosen->first, rows);
      if (!copies.ok()) {
        continue;
      }
      for (const PageCopy& copy : *copies) {
        store[copy.to.value()] = store[copy.from.value()];
      }
      const std::uint64_t kept = random() % (rows + 1);
      for (std::uint64_t row = 0; row < rows; ++row) {
        const std::uint64_t position = chosen->second.size() + row;
        auto& page = store[(*table.pages(chosen->first))[position / kPageTokens].value()];
        page.resize(kPageTokens);
        page[position % kPageTokens] = next_value + static_cast<int>(row);
      }
      ASSERT_TRUE(table.commit(chosen->first, kept).ok());
      for (std::uint64_t row = 0; row < kept; ++row) {
        chosen->second.push_back(next_value + static_cast<int>(row));
      }
      next_value += static_cast<int>(rows);
    }
    for (const auto& [id, rows] : expected) {
      ASSERT_EQ(*table.length(id), rows.size());
      const auto pages = *table.pages(id);
      for (std::size_t position = 0; position < rows.size(); ++position) {
        ASSERT_EQ(store[pages[position / kPageTokens].value()][position % kPageTokens],
                  rows[position]);
      }
    }
  }
  for (const auto& [id, rows] : expected) {
    ASSERT_TRUE(table.release(id).ok());
  }
  EXPECT_EQ(table.pool().free_count(), 24u);
}

}  // namespace
}  // namespace zllm::kv_cache
