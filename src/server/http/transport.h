#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zllm/base/result.h>

// HTTP as the server sees it, whatever carries it.
namespace zllm::server::http {

enum class Version : std::uint8_t { http1, http2, http3 };

using Headers = std::vector<std::pair<std::string, std::string>>;  // names in lower case

struct HttpRequest {
  std::string method = {};  // empty, as the path is: what came is no request, and has a refusal
  std::string path = {};    // decoded of nothing: as sent, without the query
  std::string query = {};   // without "?"
  Headers headers = {};
  std::string body = {};
  std::string peer = {};  // address and port of the client
  Version version = Version::http1;
  bool is_encrypted = false;
  // The transport refuses the request itself and only asks for a body in the route's own shape:
  // 400, 408, 413, 414, 429, 431 or 503, and why.
  std::optional<int> refusal = {};
  std::string refusal_reason = {};

  // The first header of this lower-case name.
  std::optional<std::string_view> header(std::string_view name) const;
};

// The way back to a client. Thread-safe. Calls after the client has gone do nothing. Destroyed
// before finish() or respond(), it resets the stream.
class ResponseWriter {
 public:
  virtual ~ResponseWriter() = default;

  // The whole answer.
  virtual void respond(int status, Headers headers, std::string body) = 0;
  // The head of an answer whose body comes in pieces: then write() and finish().
  virtual void start(int status, Headers headers) = 0;
  // Queues a piece; never waits. False when the client has gone.
  virtual bool write(std::string piece) = 0;
  virtual void finish() = 0;
  virtual void reset() = 0;  // ends the stream as broken
  // Bytes that write() queued and the network has not taken yet.
  virtual std::size_t pending() const = 0;
  virtual bool is_gone() const = 0;  // the client left or was cut
  // Called on a thread of the transport when pending() has fallen under half of the buffer limit
  // after having been over it, and once when the client goes or had gone already; short. Null for
  // none, which a notifier that owns the writer needs in the end. Once this returns the one before
  // is not called any more.
  virtual void set_notifier(std::function<void()> notifier) = 0;
};

// Takes every request, on a thread of the transport: must be short, and may keep the writer.
using Handler = std::function<void(HttpRequest, std::shared_ptr<ResponseWriter>)>;

struct TransportLimits {
  std::size_t body_bytes = std::size_t{32} << 20;
  std::size_t total_body_bytes = std::size_t{256} << 20;  // of all requests not yet answered
  std::size_t header_bytes = std::size_t{64} << 10;       // of all headers of a request
  std::size_t target_bytes = std::size_t{8} << 10;
  std::size_t connections = 1024;
  std::size_t streams_per_connection = 128;           // of HTTP/2 and 3
  std::size_t buffer_bytes = std::size_t{256} << 10;  // of a response that waits for a slow client
  double header_seconds =
      10;                     // from the start of a request, or of a handshake, to its headers' end
  double body_seconds = 60;   // to the end of its body
  double idle_seconds = 75;   // of a connection without a request
  double write_seconds = 60;  // that a client may take nothing while something waits for it
};

struct TransportOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 8080;         // 0 = any that is free
  std::string tls_certificate = {};  // PEM files; both or none
  std::string tls_key = {};
  bool is_http3_offered = true;  // with TLS alone
  TransportLimits limits = {};
};

class Transport {
 public:
  virtual ~Transport() = default;  // stop(0)
  virtual std::uint16_t port() const = 0;
  // Connections take no further request and have so long to end, then are cut. Until then requests
  // over new ones still reach the handler, which can refuse them; they are not waited for.
  virtual void stop(double drain_seconds) = 0;
};

// Whether the certificate and the key of these options can be used, where there are any. Errors
// name the file.
Status check_tls(const TransportOptions& options);

// Binds and serves until stopped. Errors name the address or file.
Result<std::unique_ptr<Transport>> serve_network(const TransportOptions& options, Handler handler);

}  // namespace zllm::server::http
