#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace zllm::backend::cpu {

// A fixed set of threads that share loops. The caller works too and waits only for threads that
// hold a piece of the loop, never for one that the system has not let run: a busy machine costs
// that thread's share and no more. Idle threads spin for a moment, so that the next loop starts
// within about a microsecond, and then sleep.
//
// One loop at a time: parallel_for is for one calling thread and must not be nested. Pieces must
// not throw.
class ThreadPool {
 public:
  // Threads that work on a loop, the caller included; at least one.
  explicit ThreadPool(std::size_t threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  std::size_t threads() const { return workers_.size() + 1; }

  // Calls piece(begin, end) or piece(begin, end, worker) for disjoint ranges of at most `grain`
  // that make up [0, count), and returns when all are done. `worker` < threads() is that of no
  // other running piece, so it can choose scratch memory.
  template <class Piece>
  void parallel_for(std::uint64_t count, std::uint64_t grain, Piece&& piece) {
    using Object = std::remove_reference_t<Piece>;
    run({.piece =
             [](const void *object, std::uint64_t begin, std::uint64_t end, std::size_t worker) {
               Object& call = *const_cast<Object *>(static_cast<const Object *>(object));
               if constexpr (std::is_invocable_v<Object&, std::uint64_t, std::uint64_t,
                                                 std::size_t>) {
                 call(begin, end, worker);
               } else {
                 call(begin, end);
               }
             },
         .object = &piece,
         .count = count,
         .grain = grain == 0 ? 1 : grain});
  }

 private:
  struct Loop {
    void (*piece)(const void *object, std::uint64_t begin, std::uint64_t end,
                  std::size_t worker) = nullptr;
    const void *object = nullptr;
    std::uint64_t count = 0;
    std::uint64_t grain = 1;
  };

  void run(const Loop& loop);
  void take_pieces(std::size_t worker);
  void open_loop();
  void close_loop();
  void work(std::size_t worker);
  // True when a loop newer than `seen` was entered, which must then be left; false to stop.
  bool enter_loop(std::uint64_t& seen);
  bool try_enter(std::uint64_t& seen);
  void leave_loop();
  bool sleep_until_loop(std::uint64_t seen);

  // The loop's number in the high half; below it whether it is open to enter, whether the caller
  // sleeps until it is empty, and how many workers are inside.
  alignas(64) std::atomic<std::uint64_t> gate_{0};
  alignas(64) std::atomic<std::uint64_t> next_{0};  // first index that no one has taken
  alignas(64) Loop loop_;  // written only while the gate is shut and nobody is inside
  alignas(64) std::atomic<std::uint32_t> sleepers_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable loop_opened_;
  std::condition_variable loop_empty_;
  std::vector<std::thread> workers_;
};

}  // namespace zllm::backend::cpu
