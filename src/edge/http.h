#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include <zllm/base/result.h>
#include <zllm/edge/edge.h>

namespace zllm::edge {

// The way back to a client. Thread-safe; nothing waits. Destroyed before it is finished, it resets
// the stream.
class HttpStream {
 public:
  explicit HttpStream(EdgeHttpStream *raw);
  HttpStream(const HttpStream&) = delete;
  HttpStream& operator=(const HttpStream&) = delete;
  ~HttpStream();

  // The whole answer, or its head alone: then write() and finish().
  void respond(std::uint32_t status, std::span<const EdgeHttpHeader> headers,
               std::string_view body);
  void start(std::uint32_t status, std::span<const EdgeHttpHeader> headers);
  bool write(std::string_view piece);  // false when nobody takes it any more
  void finish();
  void reset();
  std::size_t pending() const;
  bool is_gone() const;
  // Replaces the function that is called on a thread of the server when pending() falls under half
  // of the buffer's limit and, once, when the client goes. The one before is not called any more
  // once this returns.
  void set_notifier(std::function<void()> notifier);

 private:
  struct Notice;
  struct Free {
    void operator()(EdgeHttpStream *raw) const { edge_http_stream_free(raw); }
  };
  std::unique_ptr<EdgeHttpStream, Free> raw_;
  std::shared_ptr<Notice> notice_;
};

// Called on a thread of the server: must be short. The request is borrowed for the call.
using HttpHandler =
    std::function<void(const EdgeHttpRequest& request, std::shared_ptr<HttpStream> stream)>;

// Whether a server could use these PEM files. Errors name the file.
Status check_tls(std::string_view certificate, std::string_view key);

class HttpServer {
 public:
  // Binds and serves until stopped. Errors name the address or file.
  static Result<std::unique_ptr<HttpServer>> serve(const EdgeHttpOptions& options,
                                                   HttpHandler handler);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer() = default;  // stop(0)

  std::uint16_t port() const;
  // Afterwards the handler is not called any more. Not for a thread of the server.
  void stop(double drain_seconds);

 private:
  explicit HttpServer(HttpHandler handler) : handler_(std::move(handler)) {}
  struct Free {
    void operator()(EdgeHttpServer *raw) const { edge_http_server_free(raw); }
  };
  // Outlives the server below, whose threads call it.
  HttpHandler handler_;
  std::unique_ptr<EdgeHttpServer, Free> raw_;
};

}  // namespace zllm::edge
