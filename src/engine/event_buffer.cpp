#include <zllm/engine/event_buffer.h>

#include <algorithm>
#include <utility>

namespace zllm::engine {

EventBuffer::EventBuffer(std::size_t capacity, std::shared_ptr<Signal> signal)
    : capacity_(std::max<std::size_t>(capacity, 1)), signal_(std::move(signal)) {}

void EventBuffer::push(Event event) {
  bool was_empty = false;
  {
    const std::scoped_lock lock(mutex_);
    was_empty = events_.empty();
    events_.push_back(std::move(event));
  }
  if (!was_empty) {
    return;
  }
  filled_.notify_one();
  const std::scoped_lock lock(notifier_mutex_);
  if (notifier_) {
    notifier_();
  }
}

std::size_t EventBuffer::room() const {
  const std::scoped_lock lock(mutex_);
  return capacity_ - std::min(capacity_, events_.size());
}

std::vector<std::uint32_t> EventBuffer::take_cancelled_choices() {
  if (!has_cancelled_choices_.exchange(false)) {
    return {};
  }
  const std::scoped_lock lock(mutex_);
  return std::exchange(cancelled_choices_, {});
}

std::optional<Event> EventBuffer::next() {
  std::unique_lock lock(mutex_);
  filled_.wait(lock, [this] { return is_over_ || !events_.empty(); });
  return take(std::move(lock));
}

std::optional<Event> EventBuffer::try_next() { return take(std::unique_lock(mutex_)); }

std::optional<Event> EventBuffer::take(std::unique_lock<std::mutex> lock) {
  if (events_.empty()) {
    return {};
  }
  const bool was_full = events_.size() >= capacity_;
  std::optional<Event> event = std::move(events_.front());
  events_.pop_front();
  is_over_ = std::holds_alternative<Ended>(*event);
  const bool has_room_again = was_full && events_.size() < capacity_;
  lock.unlock();
  if (has_room_again) {
    signal_->raise();
  }
  return event;
}

void EventBuffer::set_notifier(std::function<void()> notifier) {
  const std::scoped_lock lock(notifier_mutex_);
  notifier_ = std::move(notifier);
  if (!notifier_) {
    return;
  }
  bool is_filled = false;
  {
    const std::scoped_lock events_lock(mutex_);
    is_filled = !events_.empty();
  }
  if (is_filled) {
    notifier_();
  }
}

void EventBuffer::cancel() {
  if (!is_cancelled_.exchange(true)) {
    signal_->raise();
  }
}

void EventBuffer::cancel_choice(std::uint32_t choice) {
  {
    const std::scoped_lock lock(mutex_);
    // A reader that repeats itself must not fill memory.
    if (std::ranges::find(cancelled_choices_, choice) != cancelled_choices_.end()) {
      return;
    }
    cancelled_choices_.push_back(choice);
  }
  has_cancelled_choices_.store(true);
  signal_->raise();
}

namespace {

class BufferStream final : public Stream {
 public:
  explicit BufferStream(std::shared_ptr<EventBuffer> events) : events_(std::move(events)) {}
  BufferStream(const BufferStream&) = delete;
  BufferStream& operator=(const BufferStream&) = delete;
  ~BufferStream() override {
    events_->set_notifier({});
    events_->cancel();
  }

  std::optional<Event> next() override { return events_->next(); }
  std::optional<Event> try_next() override { return events_->try_next(); }
  void set_notifier(std::function<void()> notifier) override {
    events_->set_notifier(std::move(notifier));
  }
  void cancel() override { events_->cancel(); }
  void cancel_choice(std::uint32_t choice) override { events_->cancel_choice(choice); }

 private:
  std::shared_ptr<EventBuffer> events_;
};

}  // namespace

std::unique_ptr<Stream> make_stream(std::shared_ptr<EventBuffer> events) {
  return std::make_unique<BufferStream>(std::move(events));
}

}  // namespace zllm::engine
