#include <zllm/server/log_queue.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

namespace zllm::server {

struct LogQueue::State {
  State(LogSink sink_of, std::function<std::string(std::uint64_t)> tell_lost_of,
        LogLimits limits_of)
      : sink(std::move(sink_of)), tell_lost(std::move(tell_lost_of)), limits(limits_of) {}

  const LogSink sink;
  const std::function<std::string(std::uint64_t)> tell_lost;
  const LogLimits limits;

  std::mutex mutex;
  std::condition_variable filled;  // or closed
  std::condition_variable emptied;
  std::deque<std::string> lines;
  std::size_t bytes = 0;     // of the lines, and of the one that the sink has now
  std::uint64_t lost = 0;    // in all
  std::uint64_t untold = 0;  // of them, those that no line tells of yet
  bool is_closed = false;

  // Under the lock, as the others are.
  void append(std::string line) {
    bytes += line.size();
    lines.push_back(std::move(line));
  }
  void append_lost() {
    if (untold > 0) {
      append(tell_lost(std::exchange(untold, 0)));
    }
  }
  // Once lines were lost, half of the room must be free again: a reader that is too slow is not
  // told so line by line.
  bool has_room_for(const std::string& line) const {
    return bytes + line.size() <= (untold > 0 ? limits.bytes / 2 : limits.bytes);
  }

  void write_all() {
    std::unique_lock lock(mutex);
    for (;;) {
      filled.wait(lock, [this] { return is_closed || !lines.empty(); });
      if (is_closed) {
        return;
      }
      const std::string line = std::move(lines.front());
      lines.pop_front();
      lock.unlock();
      sink(line);
      lock.lock();
      bytes -= line.size();
      if (bytes == 0) {
        append_lost();
      }
      if (bytes == 0) {
        emptied.notify_all();
      }
    }
  }
};

LogQueue::LogQueue(LogSink sink, std::function<std::string(std::uint64_t)> tell_lost,
                   LogLimits limits)
    : state_(std::make_shared<State>(std::move(sink), std::move(tell_lost), limits)),
      writer_([state = state_] { state->write_all(); }) {}

LogQueue::~LogQueue() {
  const bool is_done = flush();
  {
    const std::lock_guard lock(state_->mutex);
    state_->is_closed = true;
  }
  state_->filled.notify_all();
  if (is_done) {
    writer_.join();
  } else {
    writer_.detach();  // the sink may never return
  }
}

void LogQueue::push(std::string line) {
  {
    const std::lock_guard lock(state_->mutex);
    if (!state_->has_room_for(line)) {
      ++state_->lost;
      ++state_->untold;
      return;
    }
    state_->append_lost();
    state_->append(std::move(line));
  }
  state_->filled.notify_one();
}

bool LogQueue::flush() {
  std::unique_lock lock(state_->mutex);
  return state_->emptied.wait_for(lock, state_->limits.flush_time,
                                  [this] { return state_->bytes == 0; });
}

std::uint64_t LogQueue::lost() const {
  const std::lock_guard lock(state_->mutex);
  return state_->lost;
}

}  // namespace zllm::server
