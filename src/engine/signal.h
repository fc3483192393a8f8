#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>

#include <zllm/engine/request.h>

namespace zllm::engine {

// Wakes the loop's thread; a raise that nobody waits for is kept. Thread-safe.
class Signal {
 public:
  void raise() {
    {
      const std::scoped_lock lock(mutex_);
      is_raised_ = true;
    }
    raised_.notify_one();
  }

  // Returns when raised since the last wait, or at `limit`.
  void wait(std::optional<Clock::time_point> limit) {
    std::unique_lock lock(mutex_);
    const auto is_raised = [this] { return is_raised_; };
    if (limit) {
      raised_.wait_until(lock, *limit, is_raised);
    } else {
      raised_.wait(lock, is_raised);
    }
    is_raised_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable raised_;
  bool is_raised_ = false;
};

}  // namespace zllm::engine
