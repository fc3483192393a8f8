#pragma once

#include <functional>
#include <string_view>
#include <utility>

#include <zllm/base/json.h>
#include <zllm/server/metrics.h>

namespace zllm::server {

// Takes one line with its end, from any thread.
using LogSink = std::function<void(std::string_view line)>;

// Lines of JSON, one an event. Nothing of a prompt, an answer or a key is ever in them.
class RequestLog {
 public:
  // Without a sink nothing is logged.
  RequestLog(LogSink sink, bool logs_requests)
      : sink_(std::move(sink)), logs_requests_(logs_requests) {}

  void request(const RequestRecord& record) const;
  // Something that happened to the server: {"event": ..., "message": ...}.
  void event(std::string_view level, std::string_view event, std::string_view message) const;

 private:
  void write(const Json::Object& fields) const;

  LogSink sink_;
  bool logs_requests_;
};

}  // namespace zllm::server
