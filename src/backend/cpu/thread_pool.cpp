#include <zllm/backend/cpu/thread_pool.h>

#include <algorithm>
#include <chrono>

#include <zllm/base/check.h>

namespace zllm::backend::cpu {
namespace {

constexpr std::uint64_t kInsideMask = (std::uint64_t{1} << 30) - 1;
constexpr std::uint64_t kOpen = std::uint64_t{1} << 30;
constexpr std::uint64_t kCallerSleeps = std::uint64_t{1} << 31;
constexpr std::uint64_t kNextNumber = std::uint64_t{1} << 32;

std::uint64_t number(std::uint64_t gate) { return gate / kNextNumber; }

// Longer than the serial steps between two loops of a round, shorter than the user would notice.
constexpr std::chrono::microseconds kSpin{80};
// From here on the processor is offered to others between looks, in case one of ours waits for it.
constexpr std::chrono::microseconds kSpinAlone{20};
constexpr unsigned kPausesPerLook = 16;  // reading the clock costs about as much

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// Until the condition holds (true) or the time is up (false).
template <class Condition>
bool spin_until(const Condition& condition) {
  using std::chrono::steady_clock;
  for (unsigned i = 0; i < kPausesPerLook; ++i) {
    if (condition()) {
      return true;
    }
    pause();
  }
  const steady_clock::time_point start = steady_clock::now();
  while (true) {
    for (unsigned i = 0; i < kPausesPerLook; ++i) {
      if (condition()) {
        return true;
      }
      pause();
    }
    const steady_clock::duration passed = steady_clock::now() - start;
    if (passed > kSpin) {
      return false;
    }
    if (passed > kSpinAlone) {
      std::this_thread::yield();
    }
  }
}

}  // namespace

ThreadPool::ThreadPool(std::size_t threads) {
  workers_.reserve(threads);
  for (std::size_t worker = 1; worker < threads; ++worker) {
    workers_.emplace_back([this, worker] { work(worker); });
  }
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_.store(true);
  }
  loop_opened_.notify_all();
  for (std::thread& worker : workers_) {
    worker.join();
  }
}

void ThreadPool::run(const Loop& loop) {
  if (workers_.empty() || loop.count <= loop.grain) {
    for (std::uint64_t begin = 0; begin < loop.count; begin += loop.grain) {
      loop.piece(loop.object, begin, begin + std::min(loop.grain, loop.count - begin), 0);
    }
    return;
  }
  ZLLM_CHECK((gate_.load(std::memory_order_relaxed) & kOpen) == 0, "nested parallel_for");
  loop_ = loop;
  next_.store(0, std::memory_order_relaxed);
  open_loop();
  take_pieces(0);
  close_loop();
}

void ThreadPool::take_pieces(std::size_t worker) {
  const Loop& loop = loop_;
  while (true) {
    const std::uint64_t begin = next_.fetch_add(loop.grain, std::memory_order_relaxed);
    if (begin >= loop.count) {
      return;
    }
    loop.piece(loop.object, begin, begin + std::min(loop.grain, loop.count - begin), worker);
  }
}

void ThreadPool::open_loop() {
  const std::uint64_t gate = gate_.load(std::memory_order_relaxed);
  // Sequentially consistent with sleepers_: either this sees the sleeper or the sleeper the loop.
  gate_.store((number(gate) + 1) * kNextNumber + kOpen);
  if (sleepers_.load() > 0) {
    {
      const std::lock_guard lock(mutex_);
    }
    loop_opened_.notify_all();
  }
}

void ThreadPool::close_loop() {
  if ((gate_.fetch_and(~kOpen, std::memory_order_acq_rel) & kInsideMask) == 0) {
    return;
  }
  const auto empty = [this] { return (gate_.load(std::memory_order_acquire) & kInsideMask) == 0; };
  if (spin_until(empty)) {
    return;
  }
  std::unique_lock lock(mutex_);
  gate_.fetch_or(kCallerSleeps, std::memory_order_acq_rel);
  loop_empty_.wait(lock, empty);
  gate_.fetch_and(~kCallerSleeps, std::memory_order_acq_rel);
}

void ThreadPool::work(std::size_t worker) {
  std::uint64_t seen = 0;
  while (enter_loop(seen)) {
    take_pieces(worker);
    leave_loop();
  }
}

bool ThreadPool::enter_loop(std::uint64_t& seen) {
  while (true) {
    const bool found = spin_until([&] {
      const std::uint64_t gate = gate_.load(std::memory_order_relaxed);
      return ((gate & kOpen) != 0 && number(gate) != seen) || stop_.load(std::memory_order_relaxed);
    });
    if (!found && !sleep_until_loop(seen)) {
      return false;
    }
    if (stop_.load(std::memory_order_relaxed)) {
      return false;
    }
    if (try_enter(seen)) {
      return true;
    }
  }
}

bool ThreadPool::try_enter(std::uint64_t& seen) {
  std::uint64_t gate = gate_.load(std::memory_order_relaxed);
  while ((gate & kOpen) != 0 && number(gate) != seen) {
    if (gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acquire,
                                    std::memory_order_relaxed)) {
      seen = number(gate);
      return true;
    }
  }
  return false;
}

void ThreadPool::leave_loop() {
  const std::uint64_t gate = gate_.fetch_sub(1, std::memory_order_acq_rel);
  if ((gate & kInsideMask) == 1 && (gate & kCallerSleeps) != 0) {
    {
      const std::lock_guard lock(mutex_);
    }
    loop_empty_.notify_one();
  }
}

bool ThreadPool::sleep_until_loop(std::uint64_t seen) {
  std::unique_lock lock(mutex_);
  sleepers_.fetch_add(1);
  loop_opened_.wait(lock, [&] {
    const std::uint64_t gate = gate_.load();
    return ((gate & kOpen) != 0 && number(gate) != seen) || stop_.load();
  });
  sleepers_.fetch_sub(1);
  return !stop_.load();
}

}  // namespace zllm::backend::cpu
