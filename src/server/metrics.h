#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zllm/embedded/event.h>
#include <zllm/engine/statistics.h>
#include <zllm/server/histogram.h>

namespace zllm::server {

// What is known of a request once it is over.
struct RequestRecord {
  std::string id;
  std::string method;
  std::string path;
  std::string route;  // the pattern; empty when no route matched
  std::string caller;
  std::string model = {};
  int status = 0;
  bool is_streaming = false;
  std::string failure = {};  // the kind of one that came after the head was sent
  double seconds = 0;        // from arrival to the end
  std::optional<double> first_token_seconds = {};
  std::optional<Usage> usage = {};
  std::optional<AnswerTimings> timings = {};
};

// Everything that /metrics tells of requests. Thread-safe.
class Metrics {
 public:
  Metrics();
  void count(const RequestRecord& record);
  void observe_token_gap(double seconds) { token_gap_.observe(seconds); }

  // The Prometheus text format (version 0.0.4) with these engines' statistics, by model name, and
  // with what the log tells of itself.
  std::string text(const std::vector<std::pair<std::string, engine::Statistics>>& engines,
                   std::uint64_t lost_log_lines) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, std::uint64_t> requests_;  // by route and status
  std::map<std::string, std::uint64_t> failures_;                  // by kind
  std::uint64_t prompt_tokens_ = 0;
  std::uint64_t cached_tokens_ = 0;
  std::uint64_t completion_tokens_ = 0;
  Histogram first_token_;
  Histogram token_gap_;
  Histogram queue_;
  Histogram request_;
};

}  // namespace zllm::server
