#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

namespace zllm {

// Wakes who waits for any of several answers. Thread-safe.
class Signal {
 public:
  void raise() {
    const std::scoped_lock lock(mutex_);
    is_raised_ = true;
    changed_.notify_all();
    if (notifier_) {
      notifier_();
    }
  }
  // Waits until raised, so long at most; lowers it. Whether it was raised.
  bool wait(std::optional<std::chrono::steady_clock::time_point> until) {
    std::unique_lock lock(mutex_);
    const auto is_raised = [this] { return is_raised_; };
    if (until) {
      changed_.wait_until(lock, *until, is_raised);
    } else {
      changed_.wait(lock, is_raised);
    }
    return std::exchange(is_raised_, false);
  }
  // Called while raised; once this returns, the one before is not called any more.
  void set_notifier(std::function<void()> notifier) {
    const std::scoped_lock lock(mutex_);
    notifier_ = std::move(notifier);
    if (notifier_ && is_raised_) {
      notifier_();
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> notifier_;
  bool is_raised_ = false;
};

}  // namespace zllm
