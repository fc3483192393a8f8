#include <string>
#include <utility>
#include <vector>

#include <zllm/edge/http.h>
#include <zllm/server/http/transport.h>

namespace zllm::server::http {
namespace {

std::string_view text(EdgeSlice slice) {
  return {reinterpret_cast<const char *>(slice.data), slice.size};
}

EdgeSlice slice(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t *>(text.data()), text.size()};
}

HttpRequest to_request(const EdgeHttpRequest& raw) {
  HttpRequest request;
  request.method = text(raw.method);
  request.path = text(raw.path);
  request.query = text(raw.query);
  request.headers.reserve(raw.header_count);
  for (std::size_t i = 0; i < raw.header_count; ++i) {
    request.headers.emplace_back(text(raw.headers[i].name), text(raw.headers[i].value));
  }
  request.body = text(raw.body);
  request.peer = text(raw.peer);
  request.version = raw.version == 1   ? Version::http1
                    : raw.version == 2 ? Version::http2
                                       : Version::http3;
  request.is_encrypted = raw.is_encrypted != 0;
  if (raw.refusal != 0) {
    request.refusal = static_cast<int>(raw.refusal);
    request.refusal_reason = text(raw.refusal_reason);
  }
  return request;
}

std::vector<EdgeHttpHeader> to_raw(const Headers& headers) {
  std::vector<EdgeHttpHeader> raw;
  raw.reserve(headers.size());
  for (const auto& [name, value] : headers) {
    raw.push_back({slice(name), slice(value)});
  }
  return raw;
}

class NetworkWriter final : public ResponseWriter {
 public:
  explicit NetworkWriter(std::shared_ptr<edge::HttpStream> stream) : stream_(std::move(stream)) {}

  void respond(int status, Headers headers, std::string body) override {
    stream_->respond(static_cast<std::uint32_t>(status), to_raw(headers), body);
  }
  void start(int status, Headers headers) override {
    stream_->start(static_cast<std::uint32_t>(status), to_raw(headers));
  }
  bool write(std::string piece) override { return stream_->write(piece); }
  void finish() override { stream_->finish(); }
  void reset() override { stream_->reset(); }
  std::size_t pending() const override { return stream_->pending(); }
  bool is_gone() const override { return stream_->is_gone(); }
  void set_notifier(std::function<void()> notifier) override {
    stream_->set_notifier(std::move(notifier));
  }

 private:
  std::shared_ptr<edge::HttpStream> stream_;
};

class NetworkTransport final : public Transport {
 public:
  explicit NetworkTransport(std::unique_ptr<edge::HttpServer> server)
      : server_(std::move(server)) {}

  std::uint16_t port() const override { return server_->port(); }
  void stop(double drain_seconds) override { server_->stop(drain_seconds); }

 private:
  std::unique_ptr<edge::HttpServer> server_;
};

EdgeHttpOptions to_raw(const TransportOptions& options) {
  const TransportLimits& limits = options.limits;
  return {.host = slice(options.host),
          .tls_certificate = slice(options.tls_certificate),
          .tls_key = slice(options.tls_key),
          .body_bytes = limits.body_bytes,
          .total_body_bytes = limits.total_body_bytes,
          .header_bytes = limits.header_bytes,
          .target_bytes = limits.target_bytes,
          .connections = limits.connections,
          .streams_per_connection = limits.streams_per_connection,
          .buffer_bytes = limits.buffer_bytes,
          .header_seconds = limits.header_seconds,
          .body_seconds = limits.body_seconds,
          .idle_seconds = limits.idle_seconds,
          .write_seconds = limits.write_seconds,
          .port = options.port,
          .offers_http3 = options.is_http3_offered ? 1U : 0U};
}

}  // namespace

Status check_tls(const TransportOptions& options) {
  return options.tls_certificate.empty()
             ? Status()
             : edge::check_tls(options.tls_certificate, options.tls_key);
}

Result<std::unique_ptr<Transport>> serve_network(const TransportOptions& options, Handler handler) {
  const auto on_request = [handler = std::move(handler)](const EdgeHttpRequest& raw,
                                                         std::shared_ptr<edge::HttpStream> stream) {
    handler(to_request(raw), std::make_shared<NetworkWriter>(std::move(stream)));
  };
  ZLLM_TRY(auto server, edge::HttpServer::serve(to_raw(options), on_request));
  return std::unique_ptr<Transport>(std::make_unique<NetworkTransport>(std::move(server)));
}

}  // namespace zllm::server::http
