#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

namespace zllm::server {

// Takes one line with its end, on one thread, and may wait for its reader as long as that lets it.
// Where that is for ever the thread and the sink outlive the server.
using LogSink = std::function<void(std::string_view line)>;

struct LogLimits {
  // Some 14,000 lines of requests, seconds of what a busy server logs: a reader that is behind by
  // more has stopped.
  std::size_t bytes = std::size_t{4} << 20;
  // At the end, for a reader that still reads. All that may wait takes one a small part of that;
  // whoever ends the server waits too, and may kill it before long.
  std::chrono::milliseconds flush_time{2000};
};

// Lines on their way to a sink that may wait, in order, so that nobody else does. What finds no
// room is lost; a line in its place tells of how many. Thread-safe.
class LogQueue {
 public:
  // `tell_lost` makes the line that tells of lost ones.
  LogQueue(LogSink sink, std::function<std::string(std::uint64_t)> tell_lost,
           LogLimits limits = {});
  LogQueue(const LogQueue&) = delete;
  LogQueue& operator=(const LogQueue&) = delete;
  ~LogQueue();  // flush()

  // Never waits for the sink.
  void push(std::string line);
  // Waits until the sink has taken everything, so long at most. Whether it has.
  bool flush();
  std::uint64_t lost() const;  // lines, so far

 private:
  struct State;
  std::shared_ptr<State> state_;  // also of the thread, which may have to be left behind
  std::thread writer_;
};

}  // namespace zllm::server
