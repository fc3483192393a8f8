#include <zllm/server/log_queue.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <zllm/base/text.h>

namespace zllm::server {
namespace {

using testing::ElementsAre;

constexpr std::chrono::milliseconds kLong{600'000};  // no test waits for it

// A reader that takes as many lines as the test lets it.
class Reader {
 public:
  void take(std::string_view line) {
    std::unique_lock lock(mutex_);
    ++come_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return allowed_ > 0; });
    --allowed_;
    lines_.emplace_back(line);
    changed_.notify_all();
  }
  void allow(std::size_t lines) {
    const std::lock_guard lock(mutex_);
    allowed_ += lines;
    changed_.notify_all();
  }
  // Until so many lines were brought; those before the last are done with.
  void wait_for(std::size_t lines) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return come_ >= lines; });
  }
  std::vector<std::string> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t come_ = 0;
  std::size_t allowed_ = 0;
  std::vector<std::string> lines_;
};

class LogQueueTest : public testing::Test {
 protected:
  // Lines of ten bytes, the notice of lost ones included.
  static std::string line(std::size_t number) { return concat("line ", 1000 + number, "\n"); }
  static std::string lost(std::uint64_t lines) { return concat("lost ", 1000 + lines, "\n"); }

  std::unique_ptr<LogQueue> queue(std::size_t lines, std::chrono::milliseconds flush_time = kLong) {
    return std::make_unique<LogQueue>(
        [reader = reader_](std::string_view given) { reader->take(given); }, lost,
        LogLimits{.bytes = lines * line(0).size(), .flush_time = flush_time});
  }

  std::shared_ptr<Reader> reader_ = std::make_shared<Reader>();
};

TEST_F(LogQueueTest, LinesKeepTheOrderOfTheirThreads) {
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kLines = 200;
  std::vector<std::string> told;
  {
    LogQueue log([&told](std::string_view given) { told.emplace_back(given); }, lost,
                 {.flush_time = kLong});
    std::vector<std::thread> threads;
    for (std::size_t thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&log, thread] {
        for (std::size_t i = 0; i < kLines; ++i) {
          log.push(line(thread * kLines + i));
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    EXPECT_EQ(log.lost(), 0U);
  }
  ASSERT_EQ(told.size(), kThreads * kLines);
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    auto next = told.begin();
    for (std::size_t i = 0; i < kLines; ++i) {
      next = std::find(next, told.end(), line(thread * kLines + i));
      ASSERT_NE(next, told.end());
    }
  }
}

TEST_F(LogQueueTest, WhatFindsNoRoomIsLostAndToldOf) {
  const auto log = queue(4);
  for (std::size_t i = 0; i < 9; ++i) {
    log->push(line(i));
  }
  EXPECT_EQ(log->lost(), 5U);
  reader_->allow(5);
  // No line has to come for it.
  EXPECT_TRUE(log->flush());
  EXPECT_THAT(reader_->lines(), ElementsAre(line(0), line(1), line(2), line(3), lost(5)));
  reader_->allow(1);
  log->push(line(9));
  EXPECT_TRUE(log->flush());
  EXPECT_EQ(reader_->lines().back(), line(9));
  EXPECT_EQ(log->lost(), 5U);
}

TEST_F(LogQueueTest, TheNextLineComesAfterTheNumberOfLostOnes) {
  const auto log = queue(4);
  for (std::size_t i = 0; i < 6; ++i) {
    log->push(line(i));
  }
  reader_->allow(1);
  reader_->wait_for(2);
  log->push(line(6));  // three of four are still there: too many after a loss
  EXPECT_EQ(log->lost(), 3U);
  reader_->allow(2);
  reader_->wait_for(4);
  log->push(line(7));
  EXPECT_EQ(log->lost(), 3U);
  reader_->allow(3);
  EXPECT_TRUE(log->flush());
  EXPECT_THAT(reader_->lines(), ElementsAre(line(0), line(1), line(2), line(3), lost(3), line(7)));
}

// Told when the thread has let go of its sink.
struct Held {
  explicit Held(std::shared_ptr<Reader> by) : reader(std::move(by)) {}
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() { gone.set_value(); }
  std::shared_ptr<Reader> reader;
  std::promise<void> gone;
};

TEST_F(LogQueueTest, ASinkThatNeverReturnsHoldsNobodyUp) {
  auto held = std::make_shared<Held>(reader_);
  auto is_gone = held->gone.get_future();
  {
    LogQueue log([held = std::move(held)](std::string_view given) { held->reader->take(given); },
                 lost, {.flush_time = std::chrono::milliseconds(1)});
    log.push(line(0));
    log.push(line(1));
    reader_->wait_for(1);
    EXPECT_FALSE(log.flush());
  }
  EXPECT_THAT(reader_->lines(), ElementsAre());
  reader_->allow(2);
  is_gone.wait();
  EXPECT_THAT(reader_->lines(), ElementsAre(line(0)));
}

}  // namespace
}  // namespace zllm::server
