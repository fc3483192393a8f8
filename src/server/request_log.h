#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <zllm/server/log_queue.h>
#include <zllm/server/metrics.h>

namespace zllm::server {

// Lines of JSON, one an event. Nothing of a prompt, an answer or a key is ever in them. Nobody who
// logs waits for the sink.
class RequestLog {
 public:
  // Without a sink nothing is logged.
  RequestLog(LogSink sink, bool logs_requests, LogLimits limits = {});

  void request(const RequestRecord& record) const;
  // Something that happened to the server: {"event": ..., "message": ...}.
  void event(std::string_view level, std::string_view event, std::string_view message) const;
  // Before the process ends: waits for the sink, but not for ever.
  void flush() const;
  std::uint64_t lost_lines() const;  // that found the sink too far behind

 private:
  void write(std::string line) const;

  std::unique_ptr<LogQueue> queue_;  // null: no sink
  bool logs_requests_;
};

}  // namespace zllm::server
