#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <zllm/engine/event.h>
#include <zllm/engine/signal.h>
#include <zllm/engine/stream.h>

namespace zllm::engine {

// What lies between the loop and the reader of a request: events one way, cancellation the other.
class EventBuffer {
 public:
  // capacity: events after which the loop pauses the request, at least 1. The signal is raised when
  // the loop has something to do: a full buffer has room again, or the reader cancelled.
  EventBuffer(std::size_t capacity, std::shared_ptr<Signal> signal);

  // The loop's side. push never waits and never refuses: the loop asks for room before it computes.
  void push(Event event);
  std::size_t room() const;
  bool is_cancelled() const { return is_cancelled_.load(); }
  // Choices whose cancellation was not taken before.
  std::vector<std::uint32_t> take_cancelled_choices();

  // The reader's side, as Stream says.
  std::optional<Event> next();
  std::optional<Event> try_next();
  void set_notifier(std::function<void()> notifier);
  void cancel();
  void cancel_choice(std::uint32_t choice);

 private:
  std::optional<Event> take(std::unique_lock<std::mutex> lock);

  const std::size_t capacity_;
  const std::shared_ptr<Signal> signal_;

  mutable std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<Event> events_;
  bool is_over_ = false;  // Ended was taken
  std::vector<std::uint32_t> cancelled_choices_;

  std::mutex notifier_mutex_;  // held while the notifier runs
  std::function<void()> notifier_;

  std::atomic<bool> is_cancelled_ = false;
  std::atomic<bool> has_cancelled_choices_ = false;
};

// The reader's end. Cancels when destroyed.
std::unique_ptr<Stream> make_stream(std::shared_ptr<EventBuffer> events);

}  // namespace zllm::engine
