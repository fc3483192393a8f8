#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include <zllm/engine/request.h>

namespace zllm::engine {

// Wakes a thread that waits for one of several things; a raise that nobody waits for is kept.
// Thread-safe.
class Signal {
 public:
  void raise() {
    {
      const std::scoped_lock lock(mutex_);
      is_raised_ = true;
      if (notifier_) {
        notifier_();
      }
    }
    raised_.notify_one();
  }

  // Returns when raised since the last wait, or at `limit`; whether it was raised. One thread.
  bool wait(std::optional<Clock::time_point> limit) {
    std::unique_lock lock(mutex_);
    const auto is_raised = [this] { return is_raised_; };
    if (limit) {
      raised_.wait_until(lock, *limit, is_raised);
    } else {
      raised_.wait(lock, is_raised);
    }
    return std::exchange(is_raised_, false);
  }

  // For who cannot wait: called by every raise, and at once where one is kept; short, and must not
  // call the signal. Null for none. Once this returns the one before is not called any more.
  void set_notifier(std::function<void()> notifier) {
    const std::scoped_lock lock(mutex_);
    notifier_ = std::move(notifier);
    if (notifier_ && is_raised_) {
      notifier_();
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable raised_;
  std::function<void()> notifier_;
  bool is_raised_ = false;
};

}  // namespace zllm::engine
