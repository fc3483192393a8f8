#include <zllm/server/worker_pool.h>

#include <atomic>
#include <latch>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

namespace zllm::server {
namespace {

// Counts its steps and notices two at a time.
class Counter final : public Actor {
 public:
  void step() override {
    is_overlapped = is_overlapped || inside_.exchange(true);
    seen = wanted.load();
    inside_ = false;
  }

  std::atomic<int> wanted = 0;
  std::atomic<int> seen = 0;
  std::atomic<bool> is_overlapped = false;

 private:
  std::atomic<bool> inside_ = false;
};

TEST(WorkerPoolTest, AStepBeginsAfterEverySchedule) {
  for (int round = 0; round < 50; ++round) {
    auto counter = std::make_shared<Counter>();
    {
      WorkerPool pool(3);
      std::thread other([&] {
        for (int i = 0; i < 20; ++i) {
          ++counter->wanted;
          pool.schedule(counter);
        }
      });
      for (int i = 0; i < 20; ++i) {
        ++counter->wanted;
        pool.schedule(counter);
      }
      other.join();
    }
    EXPECT_EQ(counter->seen, 40);
    EXPECT_FALSE(counter->is_overlapped);
  }
}

TEST(WorkerPoolTest, FinishesWhatIsQueued) {
  std::atomic<int> done = 0;
  WorkerPool pool(2);
  for (int i = 0; i < 100; ++i) {
    pool.run([&] { ++done; });
  }
  pool.stop();
  EXPECT_EQ(done, 100);
}

TEST(WorkerPoolTest, OneTaskDoesNotWaitForAnother) {
  WorkerPool pool(2);
  std::latch both(2);
  for (int i = 0; i < 2; ++i) {
    pool.run([&] { both.arrive_and_wait(); });
  }
  both.wait();
  pool.stop();
}

}  // namespace
}  // namespace zllm::server
