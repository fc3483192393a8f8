#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zllm/base/json.h>
#include <zllm/dialect/catalog/catalog.h>
#include <zllm/embedded/failure.h>
#include <zllm/server/http/transport.h>
#include <zllm/server/metrics.h>
#include <zllm/server/request_log.h>

namespace zllm::server {

// Of clients that ask while a model loads or the server ends, in seconds.
constexpr std::string_view kRetryWhileLoading = "5";

constexpr std::size_t kUniqueLength = 24;  // letters and digits of an id that is never met again

// One HTTP request on its way through the server, and the way back. Reports itself to metrics and
// log once, at its end. One thread at a time.
class Call {
 public:
  using Clock = std::chrono::steady_clock;

  Call(http::HttpRequest request, std::shared_ptr<http::ResponseWriter> writer, Metrics& metrics,
       const RequestLog& log);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  const http::HttpRequest& request() const { return request_; }
  const std::string& id() const { return record_.id; }
  const std::shared_ptr<http::ResponseWriter>& writer() const { return writer_; }
  Clock::time_point arrival() const { return arrival_; }
  double seconds() const;  // since it arrived
  RequestRecord& record() { return record_; }

  // Set by routing.
  const dialect::Dialect *protocol = &dialect::all_dialects().front();  // whose errors it speaks
  std::string caller = {};  // whose turn in the queue it is
  std::string owner = {};   // whose stored responses it sees
  std::vector<std::pair<std::string, std::string>> parameters = {};  // of the path
  http::Headers extra_headers = {};                                  // of every response

  std::string_view parameter(std::string_view name) const;
  // The body as a JSON object; a failure says what it is instead.
  Outcome<Json> object_body() const;

  void reply(int status, std::string body, std::string_view type = "application/json");
  void fail(const Failure& failure);
  // With a status that is none of a Failure, such as 405 or 413.
  void fail_with(int status, const Failure& failure);
  // The head of a stream of server-sent events.
  void start_events();
  // The end, however it came; the record tells.
  void report();

  std::string error_body(const Failure& failure) const;

 private:
  http::Headers headers(std::string_view type) const;

  http::HttpRequest request_;
  std::shared_ptr<http::ResponseWriter> writer_;
  Metrics& metrics_;
  const RequestLog& log_;
  Clock::time_point arrival_;
  RequestRecord record_;
  bool is_reported_ = false;
};

// The word for logs and metrics.
std::string_view name(FailureKind kind);

}  // namespace zllm::server
