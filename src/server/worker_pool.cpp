#include <zllm/server/worker_pool.h>

#include <utility>

namespace zllm::server {

WorkerPool::WorkerPool(std::size_t threads) {
  threads_.reserve(threads);
  for (std::size_t i = 0; i < threads; ++i) {
    threads_.emplace_back([this] { work(); });
  }
}

WorkerPool::~WorkerPool() { stop(); }

void WorkerPool::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) {
      thread.join();
    }
  }
}

void WorkerPool::push(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
}

void WorkerPool::run(std::function<void()> task) { push(std::move(task)); }

void WorkerPool::schedule(std::shared_ptr<Actor> actor) {
  using State = Actor::State;
  State state = actor->state_.load();
  for (;;) {
    if (state == State::queued || state == State::running_again) {
      return;
    }
    const State next = state == State::idle ? State::queued : State::running_again;
    if (actor->state_.compare_exchange_weak(state, next)) {
      if (next == State::queued) {
        push([this, actor = std::move(actor)] { step(actor); });
      }
      return;
    }
  }
}

void WorkerPool::step(const std::shared_ptr<Actor>& actor) {
  using State = Actor::State;
  actor->state_.store(State::running);
  actor->step();
  State state = State::running;
  if (!actor->state_.compare_exchange_strong(state, State::idle)) {
    // Scheduled meanwhile: behind what others wait for.
    actor->state_.store(State::queued);
    push([this, actor] { step(actor); });
  }
}

void WorkerPool::work() {
  for (;;) {
    std::function<void()> task;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return is_stopped_ || !tasks_.empty(); });
      if (tasks_.empty()) {
        return;
      }
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

}  // namespace zllm::server
