#include <zllm/server/server.h>

#include <algorithm>
#include <utility>

#include <zllm/base/text.h>
#include <zllm/dialect/catalog/catalog.h>
#include <zllm/server/routes.h>

namespace zllm::server {
namespace {

constexpr int kUnauthorised = 401;
constexpr int kForbidden = 403;
constexpr int kWrongMethod = 405;
constexpr std::size_t kLongBodyBytes = std::size_t{128} << 10;  // takes some 10 ms to tokenize
constexpr int kWrongEncoding = 415;
constexpr int kNoRoomForBody = 429;
constexpr int kNoRoomForConnection = 503;
constexpr std::string_view kUsualHeaders =
    "authorization, content-type, x-api-key, anthropic-version";

std::string host_of(const std::string& peer) { return peer.substr(0, peer.rfind(':')); }

}  // namespace

Result<std::unique_ptr<Server>> Server::create(ServerOptions options) {
  auto models = std::make_unique<ModelSet>(options.models);
  return create(std::move(options), std::move(models));
}

Result<std::unique_ptr<Server>> Server::create(ServerOptions options,
                                               std::unique_ptr<ModelSet> models) {
  ZLLM_TRY(ApiKeys keys, ApiKeys::create(options.api_keys));
  ZLLM_TRY(AllowedHosts hosts, AllowedHosts::create(options));
  auto services = std::make_unique<Services>(std::move(options), std::move(models));
  return std::unique_ptr<Server>(
      new Server(std::move(services), std::move(keys), std::move(hosts)));
}

Server::Server(std::unique_ptr<Services> services, ApiKeys keys, AllowedHosts hosts)
    : services_(std::move(services)),
      keys_(std::move(keys)),
      hosts_(std::move(hosts)),
      cross_origin_(services_->options.cors_origins),
      routes_(all_routes(*services_)) {}

Server::~Server() {
  close();
  // Engines tell of their answers' ends until they are gone, to pools that must still be there.
  services_->models.reset();
}

void Server::close() {
  refuse_new();
  services_->background.cancel_all();
  services_->long_workers->stop();
  services_->workers->stop();
}

http::Handler Server::handler() {
  return [this](http::HttpRequest request, std::shared_ptr<http::ResponseWriter> writer) {
    take(std::move(request), std::move(writer));
  };
}

void Server::take(http::HttpRequest request, std::shared_ptr<http::ResponseWriter> writer) {
  auto call = std::make_shared<Call>(std::move(request), std::move(writer), services_->metrics,
                                     services_->log);
  const bool is_long = call->request().body.size() > kLongBodyBytes;
  WorkerPool& workers = is_long ? *services_->long_workers : *services_->workers;
  workers.run([this, call] { dispatch(call); });
}

void Server::dispatch(const std::shared_ptr<Call>& call) {
  const http::HttpRequest& request = call->request();
  call->extra_headers = cross_origin_.headers(request);
  RouteMatch match = routes_.match(request.method, request.path);
  call->protocol = &dialect::dialect_of(request.path);
  if (request.method.empty()) {
    call->caller = host_of(request.peer);
    return refuse(*call);
  }
  if (match.route != nullptr) {
    call->record().route = match.route->pattern;
    call->protocol = &dialect::dialect_of(match.route->pattern);
    call->parameters = std::move(match.parameters);
  }
  if (cross_origin_.is_preflight(request)) {
    call->extra_headers.emplace_back("access-control-allow-methods", "GET, POST, DELETE");
    // Clients add headers of their own; a listed origin is trusted with any.
    call->extra_headers.emplace_back(
        "access-control-allow-headers",
        request.header("access-control-request-headers").value_or(kUsualHeaders));
    return call->reply(204, {});
  }
  if (!authorise(*call, match.route == nullptr ? Access::key : match.route->access)) {
    return;
  }
  if (request.refusal) {
    return refuse(*call);
  }
  if (match.route == nullptr) {
    if (match.allowed.empty()) {
      return call->fail(Failure(FailureKind::not_found,
                                concat("there is no route ", quote(request.path)), {},
                                "unknown_url"));
    }
    std::string allowed;
    for (const std::string& method : match.allowed) {
      allowed += concat(allowed.empty() ? "" : ", ", method);
    }
    call->extra_headers.emplace_back("allow", allowed);
    return call->fail_with(
        kWrongMethod, Failure(FailureKind::invalid,
                              concat(request.path, " takes ", allowed, ", not ", request.method),
                              {}, "method_not_allowed"));
  }
  // What only tells how things stand goes on to do so.
  if (services_->is_closing && request.method != "GET" && request.method != "HEAD") {
    return call->fail(Failure(FailureKind::shut_down, "the server is shutting down"));
  }
  const std::optional<std::string_view> encoding = request.header("content-encoding");
  if (encoding && *encoding != "identity") {
    return call->fail_with(kWrongEncoding, Failure(FailureKind::invalid,
                                                   concat("a body with content-encoding ",
                                                          quote(*encoding), " is not read"),
                                                   {}, "unsupported_content_encoding"));
  }
  match.route->handle(call);
}

bool Server::authorise(Call& call, Access access) const {
  call.caller = host_of(call.request().peer);
  call.owner = "anonymous";
  if (access == Access::open) {
    return true;
  }
  // What the transport refuses is told so, whatever host it names or spoils.
  const std::optional<Failure> refusal = hosts_.refuse(call.request());
  if (refusal && !call.request().refusal) {
    call.fail_with(kForbidden, *refusal);
    return false;
  }
  if (keys_.empty()) {
    return true;
  }
  const std::optional<std::string_view> key = presented_key(call.request());
  std::optional<std::string> caller = keys_.caller(key.value_or(std::string_view()));
  if (caller) {
    call.caller = *caller;
    call.owner = *std::move(caller);
    return true;
  }
  call.extra_headers.emplace_back("www-authenticate", "Bearer");
  call.fail_with(kUnauthorised, Failure(FailureKind::invalid,
                                        key ? "the API key is not one of this server's"
                                            : "an API key is needed: Authorization: Bearer KEY",
                                        {}, "invalid_api_key"));
  return false;
}

// The transport gave up on the request before it was whole, or had no room for it.
void Server::refuse(Call& call) const {
  const int status = *call.request().refusal;
  if (status == kNoRoomForBody || status == kNoRoomForConnection) {
    return call.fail_with(status, Failure(FailureKind::busy, call.request().refusal_reason));
  }
  const std::string_view code = status == 413   ? "request_too_large"
                                : status == 408 ? "request_timeout"
                                                : "bad_request";
  call.fail_with(
      status, Failure(FailureKind::invalid, call.request().refusal_reason, {}, std::string(code)));
}

}  // namespace zllm::server
