#include <zllm/edge/http.h>

#include <csignal>
#include <mutex>
#include <utility>

#include <zllm/edge/call.h>

namespace zllm::edge {

// Shared with the stream on the Rust side, whose threads call it.
struct HttpStream::Notice {
  // Held during a call, so that none runs on once the notifier is replaced. A notifier may replace
  // itself.
  std::recursive_mutex mutex;
  std::shared_ptr<std::function<void()>> notifier;
  bool has_told_gone = false;

  void call(bool is_gone) {
    const std::lock_guard lock(mutex);
    const auto current = notifier;
    if (current == nullptr || has_told_gone) {
      return;
    }
    has_told_gone = is_gone;
    (*current)();
  }
};

namespace {

// What the Rust side holds of a stream.
struct Watcher {
  const EdgeHttpStream *stream;
  std::function<void(bool is_gone)> call;
};

void on_event(void *user) noexcept {
  const auto *watcher = static_cast<const Watcher *>(user);
  watcher->call(edge_http_stream_is_gone(watcher->stream) != 0);
}

void on_release(void *user) noexcept { delete static_cast<Watcher *>(user); }

void on_request(void *user, const EdgeHttpRequest *request, EdgeHttpStream *raw) noexcept {
  auto stream = std::make_shared<HttpStream>(raw);
  (*static_cast<const HttpHandler *>(user))(*request, std::move(stream));
}

}  // namespace

HttpStream::HttpStream(EdgeHttpStream *raw) : raw_(raw), notice_(std::make_shared<Notice>()) {
  auto watcher = std::make_unique<Watcher>(
      Watcher{raw, [notice = notice_](bool is_gone) { notice->call(is_gone); }});
  edge_http_stream_watch(raw, on_event, on_release, watcher.release());
}

HttpStream::~HttpStream() { set_notifier(nullptr); }

void HttpStream::respond(std::uint32_t status, std::span<const EdgeHttpHeader> headers,
                         std::string_view body) {
  const EdgeSlice whole = slice(body);
  edge_http_stream_start(raw_.get(), status, headers.data(), headers.size(), &whole);
}

void HttpStream::start(std::uint32_t status, std::span<const EdgeHttpHeader> headers) {
  edge_http_stream_start(raw_.get(), status, headers.data(), headers.size(), nullptr);
}

bool HttpStream::write(std::string_view piece) {
  return edge_http_stream_write(raw_.get(), slice(piece)) != 0;
}

void HttpStream::finish() { edge_http_stream_finish(raw_.get()); }

void HttpStream::reset() { edge_http_stream_reset(raw_.get()); }

std::size_t HttpStream::pending() const { return edge_http_stream_pending(raw_.get()); }

bool HttpStream::is_gone() const { return edge_http_stream_is_gone(raw_.get()) != 0; }

void HttpStream::set_notifier(std::function<void()> notifier) {
  std::shared_ptr<std::function<void()>> next;
  if (notifier != nullptr) {
    next = std::make_shared<std::function<void()>>(std::move(notifier));
  }
  const bool is_set = next != nullptr;
  {
    const std::lock_guard lock(notice_->mutex);
    notice_->notifier = std::move(next);
    notice_->has_told_gone = false;
  }
  // The client may have gone before anybody asked to be told.
  if (is_set && is_gone()) {
    edge_http_stream_remind(raw_.get());
  }
}

Status check_tls(std::string_view certificate, std::string_view key) {
  return call(edge_http_check_tls, slice(certificate), slice(key));
}

Result<std::unique_ptr<HttpServer>> HttpServer::serve(const EdgeHttpOptions& options,
                                                      HttpHandler handler) {
  // Programs in Rust begin so, and its sockets count on it: a client that leaves while something is
  // written to it would end the process.
  std::signal(SIGPIPE, SIG_IGN);
  std::unique_ptr<HttpServer> server(new HttpServer(std::move(handler)));
  EdgeHttpServer *raw = nullptr;
  ZLLM_TRY(
      call(edge_http_serve, &options, on_request, static_cast<void *>(&server->handler_), &raw));
  server->raw_.reset(raw);
  return server;
}

std::uint16_t HttpServer::port() const {
  return static_cast<std::uint16_t>(edge_http_port(raw_.get()));
}

void HttpServer::stop(double drain_seconds) {
  const Status stopped = call(edge_http_stop, raw_.get(), drain_seconds);
  ZLLM_CHECK(stopped.ok(), "a server that does not stop");
}

}  // namespace zllm::edge
