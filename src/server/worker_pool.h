#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace zllm::server {

// Something that has work now and then. Its step runs on one worker at a time.
class Actor {
 public:
  virtual ~Actor() = default;
  // Does what can be done without waiting.
  virtual void step() = 0;

 private:
  friend class WorkerPool;
  enum class State : std::uint8_t { idle, queued, running, running_again };
  std::atomic<State> state_ = State::idle;
};

// Threads that do short work: tasks once each, actors whenever they are scheduled. Thread-safe.
class WorkerPool {
 public:
  explicit WorkerPool(std::size_t threads);
  ~WorkerPool();  // finishes what is queued
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  void run(std::function<void()> task);
  // At least one step begins after this; several calls may share it.
  void schedule(std::shared_ptr<Actor> actor);
  // Finishes what is queued and takes nothing more.
  void stop();

 private:
  void work();
  void step(const std::shared_ptr<Actor>& actor);
  void push(std::function<void()> task);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool is_stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace zllm::server
