#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace zllm::text::family {

struct Done {};

// One stretch of parsing, written as if all text were there already. It runs when it is awaited,
// waits where the text ends for now (Input::more) and goes on from there. Owns its frame; the text,
// the output and whatever else it is given by pointer must outlive it. One thread at a time.
// Arguments of tasks are trivial (pointers, views, plain structs) or moved from variables: GCC 12
// destroys an aggregate that is made within a co_await expression twice.
template <class T>
class [[nodiscard]] Task {
 public:
  struct promise_type;
  using Handle = std::coroutine_handle<promise_type>;

  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) {
      handle_.destroy();
    }
  }

  // Runs until the first wait or the end: for the outermost task.
  void start() { handle_.resume(); }

  // A task that ends without waiting never suspends the one that awaits it, so that the stack does
  // not grow with the number of tasks, only with their nesting.
  bool await_ready() {
    handle_.resume();
    return handle_.done();
  }
  void await_suspend(std::coroutine_handle<> waiter) { handle_.promise().waiter = waiter; }
  T await_resume() { return std::move(*handle_.promise().value); }

 private:
  explicit Task(Handle handle) : handle_(handle) {}

  Handle handle_;
};

template <class T>
struct Task<T>::promise_type {
  struct Final {
    bool await_ready() noexcept { return false; }
    std::coroutine_handle<> await_suspend(Handle done) noexcept {
      const std::coroutine_handle<> next = done.promise().waiter;
      return next ? next : std::noop_coroutine();
    }
    void await_resume() noexcept {}
  };

  Task get_return_object() { return Task(Handle::from_promise(*this)); }
  std::suspend_always initial_suspend() noexcept { return {}; }
  Final final_suspend() noexcept { return {}; }
  void return_value(T result) { value.emplace(std::move(result)); }
  [[noreturn]] void unhandled_exception() noexcept { std::terminate(); }

  std::optional<T> value = {};
  std::coroutine_handle<> waiter = {};
};

}  // namespace zllm::text::family
