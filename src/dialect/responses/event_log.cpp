#include <zllm/dialect/responses/event_log.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace zllm::dialect::responses {

void EventLog::append(const Item& event) {
  const std::lock_guard lock(mutex_);
  if (is_dropped_) {
    return;
  }
  bytes_ += sizeof(Item) + event.event.size() + event.data.size();
  if (bytes_ > most_bytes_) {
    is_dropped_ = true;
    bytes_ = 0;
    events_ = {};
  } else {
    events_.push_back(event);
  }
  tell();
}

void EventLog::close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  tell();
}

EventLog::Part EventLog::read(std::size_t first, std::size_t most) const {
  const std::lock_guard lock(mutex_);
  Part part;
  part.is_dropped = is_dropped_;
  const std::size_t begin = std::min(first, events_.size());
  const std::size_t count = std::min(most, events_.size() - begin);
  const auto from = std::next(events_.begin(), static_cast<std::ptrdiff_t>(begin));
  part.events.assign(from, std::next(from, static_cast<std::ptrdiff_t>(count)));
  part.is_last = is_closed_ && begin + count == events_.size();
  return part;
}

std::size_t EventLog::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

std::size_t EventLog::listen(std::function<void()> listener) {
  const std::lock_guard lock(mutex_);
  listeners_.emplace(listener_count_, std::move(listener));
  return listener_count_++;
}

void EventLog::unlisten(std::size_t number) {
  const std::lock_guard lock(mutex_);
  listeners_.erase(number);
}

void EventLog::tell() {
  for (const auto& [number, listener] : listeners_) {
    listener();
  }
}

}  // namespace zllm::dialect::responses
