#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include <zllm/dialect/dialect.h>

namespace zllm::dialect::responses {

// The events of one response as its stream tells them, for readers who come later or come back.
// The place of an event is its sequence number. Thread-safe.
class EventLog {
 public:
  // As many responses as may run in the background hold no more than a store does.
  static constexpr std::size_t kMostBytes = std::size_t{4} << 20;

  explicit EventLog(std::size_t most_bytes = kMostBytes) : most_bytes_(most_bytes) {}

  // What does not fit makes the log drop all: a part would be no stream.
  void append(const Item& event);
  void close();  // after the last event

  struct Part {
    std::vector<Item> events;
    bool is_last = false;     // nothing comes after them
    bool is_dropped = false;  // the log holds nothing any more
  };
  // From this place on, at most so many.
  Part read(std::size_t first, std::size_t most) const;
  bool is_dropped() const { return read(0, 0).is_dropped; }
  std::size_t bytes() const;

  // Called after each change, on the thread of the change, until the listener is taken back; short.
  std::size_t listen(std::function<void()> listener);
  void unlisten(std::size_t number);

 private:
  void tell();  // under the mutex

  const std::size_t most_bytes_;
  mutable std::mutex mutex_;
  std::vector<Item> events_;
  std::size_t bytes_ = 0;
  bool is_closed_ = false;
  bool is_dropped_ = false;
  std::map<std::size_t, std::function<void()>> listeners_;
  std::size_t listener_count_ = 0;
};

}  // namespace zllm::dialect::responses
