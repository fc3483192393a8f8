#include <zllm/server/call.h>

#include <algorithm>
#include <optional>

#include <zllm/base/text.h>
#include <zllm/dialect/dialect.h>
#include <zllm/embedded/random_name.h>
#include <zllm/server/http/sse.h>

namespace zllm::server {
namespace {

constexpr int kClientGone = 499;          // nobody sees it; as web servers log it
constexpr std::string_view kRetry = "1";  // seconds: a round or two later there may be room
constexpr std::size_t kLongestId = 128;   // of clients' own; two UUIDs and more

// What a client or a proxy before it calls the request, where that is fit for a header and a log.
std::optional<std::string> given_id(const http::HttpRequest& request) {
  const std::optional<std::string_view> id = request.header("x-request-id");
  const auto is_visible = [](char c) { return c > ' ' && c < '\x7f'; };
  if (!id || id->empty() || id->size() > kLongestId || !std::ranges::all_of(*id, is_visible)) {
    return std::nullopt;
  }
  return std::string(*id);
}

}  // namespace

std::string_view name(FailureKind kind) {
  switch (kind) {
    case FailureKind::invalid:
      return "invalid";
    case FailureKind::too_long:
      return "too_long";
    case FailureKind::unsupported:
      return "unsupported";
    case FailureKind::not_found:
      return "not_found";
    case FailureKind::busy:
      return "busy";
    case FailureKind::loading:
      return "loading";
    case FailureKind::deadline:
      return "deadline";
    case FailureKind::shut_down:
      return "shut_down";
    case FailureKind::out_of_memory:
      return "out_of_memory";
    case FailureKind::internal:
      return "internal";
  }
  return "internal";
}

Call::Call(http::HttpRequest request, std::shared_ptr<http::ResponseWriter> writer,
           Metrics& metrics, const RequestLog& log)
    : request_(std::move(request)),
      writer_(std::move(writer)),
      metrics_(metrics),
      log_(log),
      arrival_(Clock::now()) {
  record_.id = given_id(request_).value_or(concat("req_", random_name(kUniqueLength)));
  record_.method = request_.method;
  record_.path = request_.path;
}

Call::~Call() { report(); }

double Call::seconds() const {
  return std::chrono::duration<double>(Clock::now() - arrival_).count();
}

std::string_view Call::parameter(std::string_view name) const {
  const auto found = std::ranges::find(parameters, name, [](const auto& one) { return one.first; });
  return found == parameters.end() ? std::string_view() : std::string_view(found->second);
}

Outcome<Json> Call::object_body() const {
  if (request_.body.empty()) {
    return Failure(FailureKind::invalid, "the request has no body");
  }
  auto body = Json::parse(request_.body, "the request body");
  if (!body.ok()) {
    return Failure(FailureKind::invalid, body.error().message, {}, "invalid_json");
  }
  if (body->as_object() == nullptr) {
    return Failure(FailureKind::invalid,
                   concat("the request body must be a JSON object, not ", body->type_name()));
  }
  return *std::move(body);
}

http::Headers Call::headers(std::string_view type) const {
  http::Headers headers = {{"content-type", std::string(type)},
                           {"x-request-id", record_.id},
                           {"x-content-type-options", "nosniff"}};
  if (!protocol->request_id_header.empty()) {
    headers.emplace_back(protocol->request_id_header, record_.id);
  }
  headers.insert(headers.end(), extra_headers.begin(), extra_headers.end());
  return headers;
}

void Call::reply(int status, std::string body, std::string_view type) {
  record_.status = status;
  report();  // before the client can ask for metrics
  writer_->respond(status, headers(type), std::move(body));
}

std::string Call::error_body(const Failure& failure) const {
  return protocol->error_body(failure, record_.id);
}

void Call::fail(const Failure& failure) { fail_with(dialect::http_status(failure.kind), failure); }

void Call::fail_with(int status, const Failure& failure) {
  record_.status = status;
  record_.failure = name(failure.kind);
  http::Headers all = headers("application/json");
  if (failure.kind == FailureKind::busy) {
    all.emplace_back("retry-after", kRetry);
  } else if (failure.kind == FailureKind::loading || failure.kind == FailureKind::shut_down) {
    all.emplace_back("retry-after", kRetryWhileLoading);
  }
  report();
  writer_->respond(status, std::move(all), error_body(failure));
}

void Call::start_events() {
  record_.status = 200;
  record_.is_streaming = true;
  http::Headers all = headers(http::kEventStreamType);
  all.emplace_back("cache-control", "no-cache");
  // Reverse proxies that would collect the stream are asked not to.
  all.emplace_back("x-accel-buffering", "no");
  writer_->start(200, std::move(all));
}

void Call::report() {
  if (is_reported_) {
    return;
  }
  is_reported_ = true;
  if (record_.status == 0) {
    record_.status = kClientGone;
  }
  record_.caller = caller;
  record_.seconds = seconds();
  metrics_.count(record_);
  log_.request(record_);
}

}  // namespace zllm::server
