#include <atomic>
#include <cstdint>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <zllm/backend/cpu/thread_pool.h>

namespace zllm::backend::cpu {
namespace {

TEST(ThreadPool, CoversEveryIndexOnce) {
  for (const std::size_t threads : {0U, 1U, 2U, 3U, 8U}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads == 0 ? 1 : threads);
    for (const std::uint64_t count : {0U, 1U, 2U, 5U, 64U, 1000U}) {
      for (const std::uint64_t grain : {0U, 1U, 3U, 64U, 2000U}) {
        std::vector<int> visits(count, 0);  // not atomic: a race is for the thread sanitizer to see
        pool.parallel_for(count, grain, [&](std::uint64_t begin, std::uint64_t end) {
          EXPECT_LT(begin, end);
          EXPECT_LE(end - begin, grain == 0 ? 1 : grain);
          for (std::uint64_t i = begin; i < end; ++i) {
            ++visits[i];
          }
        });
        EXPECT_EQ(visits, std::vector<int>(count, 1));
      }
    }
  }
}

TEST(ThreadPool, WorkerNumbersAreExclusive) {
  constexpr std::size_t kThreads = 4;
  ThreadPool pool(kThreads);
  std::vector<std::uint64_t> sums(kThreads, 0);
  for (int repeat = 0; repeat < 200; ++repeat) {
    pool.parallel_for(100, 1, [&](std::uint64_t begin, std::uint64_t, std::size_t worker) {
      ASSERT_LT(worker, kThreads);
      sums[worker] += begin;
    });
  }
  EXPECT_EQ(std::accumulate(sums.begin(), sums.end(), std::uint64_t{0}), 200U * 4950U);
}

TEST(ThreadPool, LoopsFollowEachOtherWithoutMixing) {
  ThreadPool pool(3);
  std::vector<std::uint64_t> values(48, 0);
  for (std::uint64_t repeat = 0; repeat < 1000; ++repeat) {
    pool.parallel_for(values.size(), 5, [&, repeat](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) {
        ASSERT_EQ(values[i], repeat);
        values[i] = repeat + 1;
      }
    });
  }
  EXPECT_EQ(values, std::vector<std::uint64_t>(48, 1000));
}

// Both sides sleep here: the workers before the loop and the caller at its end.
TEST(ThreadPool, WakesSleepers) {
  ThreadPool pool(2);
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::atomic<int> entered = 0;
    pool.parallel_for(2, 1, [&](std::uint64_t, std::uint64_t) {
      // Each piece waits for the other, so two threads must be there.
      entered.fetch_add(1);
      while (entered.load() < 2) {
        std::this_thread::yield();
      }
    });
    EXPECT_EQ(entered.load(), 2);
    // Longer than the spin, in units of the work that the machine gets done.
    std::atomic<std::uint64_t> work = 0;
    for (int i = 0; i < 20000; ++i) {
      work.fetch_add(1);
    }
  }
}

TEST(ThreadPool, EndsAtAnyMoment) {
  for (int repeat = 0; repeat < 100; ++repeat) {
    auto pool = std::make_unique<ThreadPool>(3);
    if (repeat % 2 == 0) {
      std::atomic<int> sum = 0;
      pool->parallel_for(8, 1, [&](std::uint64_t, std::uint64_t) { sum.fetch_add(1); });
      EXPECT_EQ(sum.load(), 8);
    }
    pool.reset();
  }
}

}  // namespace
}  // namespace zllm::backend::cpu
