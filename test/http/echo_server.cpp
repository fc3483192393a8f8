// A server of the HTTP transport for the black-box checks of tools/check/http_clients.py:
// echo_server [name=value]... serves until its input says "stop SECONDS" or ends. It prints
// "port N", "held PATH" once "/release" or "/break" ends what was asked for, "gone PATH" when a
// client leaves, "pump waits" once and how a pump ends, and "stopped".

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zllm/base/text.h>
#include <zllm/server/http/sse.h>
#include <zllm/server/http/transport.h>

namespace {

using namespace zllm;
using namespace zllm::server::http;

void print(std::string_view line) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::cout << line << std::endl;
}

std::size_t parameter(const HttpRequest& request, std::string_view name, std::size_t fallback) {
  std::string_view rest = request.query;
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    std::size_t value = 0;
    if (pair.substr(0, pair.find('=')) == name &&
        parse_number(pair.substr(std::min(pair.size(), name.size() + 1)), value)) {
      return value;
    }
  }
  return fallback;
}

// Writes pieces as fast as the client takes them: stops at the limit, goes on when notified.
class Pump : public std::enable_shared_from_this<Pump> {
 public:
  Pump(std::shared_ptr<ResponseWriter> writer, std::size_t count, std::size_t size,
       std::size_t limit)
      : writer_(std::move(writer)), left_(count), piece_(size, 'x'), limit_(limit) {}

  void start() {
    writer_->start(200, {{"content-type", std::string(kEventStreamType)}});
    writer_->set_notifier([me = shared_from_this()] { me->go_on(); });
    go_on();
  }

 private:
  void go_on() {
    const std::lock_guard lock(mutex_);
    while (left_ > 0 && writer_->pending() <= limit_) {
      if (!writer_->write(piece_)) {
        print(concat("pump cut, left ", left_));
        left_ = 0;
        writer_->set_notifier(nullptr);
        return;
      }
      most_ = std::max(most_, writer_->pending());
      if (--left_ == 0) {
        writer_->finish();
        writer_->set_notifier(nullptr);
        print(concat("pump left 0 most ", most_));
      }
    }
    if (left_ > 0 && !has_waited_) {
      has_waited_ = true;
      print("pump waits");
    }
  }

  std::recursive_mutex mutex_;
  std::shared_ptr<ResponseWriter> writer_;
  std::size_t left_;
  std::string piece_;
  std::size_t limit_;
  std::size_t most_ = 0;
  bool has_waited_ = false;
};

class Server {
 public:
  explicit Server(TransportOptions options) : options_(std::move(options)) {}

  Status start() {
    ZLLM_TRY(transport_, serve_network(options_, [this](HttpRequest request,
                                                        std::shared_ptr<ResponseWriter> writer) {
               handle(std::move(request), std::move(writer));
             }));
    print(concat("port ", transport_->port()));
    return {};
  }

  void stop(double seconds) {
    transport_->stop(seconds);
    // Writers outlive their transport.
    for (auto& [path, writer] : held_) {
      writer->write("late");
      writer->finish();
      writer->set_notifier(nullptr);
    }
    print("stopped");
  }

 private:
  void handle(HttpRequest request, std::shared_ptr<ResponseWriter> writer) {
    const Headers plain = {{"content-type", "text/plain"}};
    if (request.refusal.has_value()) {
      writer->respond(*request.refusal, plain, concat("refused: ", request.refusal_reason));
    } else if (request.path == "/hello") {
      writer->respond(200, plain, "hello");
    } else if (request.path == "/echo") {
      writer->respond(200, described(request), std::move(request.body));
    } else if (request.path == "/stream") {
      stream(request, *writer);
    } else if (request.path == "/pump") {
      const std::size_t size = parameter(request, "size", 1024);
      std::make_shared<Pump>(std::move(writer), parameter(request, "n", 1), size,
                             options_.limits.buffer_bytes)
          ->start();
    } else if (request.path == "/hang" || request.path == "/drip") {
      hold(request, std::move(writer));
    } else if (request.path == "/release") {
      release();
      writer->respond(200, plain, "released");
    } else if (request.path == "/broken") {
      writer->start(200, plain);
      writer->write("some");
      const std::lock_guard lock(mutex_);
      broken_.push_back(std::move(writer));
      print("held /broken");
    } else if (request.path == "/break") {
      const std::lock_guard lock(mutex_);
      broken_.clear();
      writer->respond(200, plain, "");
    } else {
      writer->respond(404, plain, "no such path");
    }
  }

  static Headers described(const HttpRequest& request) {
    Headers headers = {{"x-method", request.method},
                       {"x-path", request.path},
                       {"x-query", request.query},
                       {"x-peer", request.peer},
                       {"x-version", concat(static_cast<int>(request.version) + 1)},
                       {"x-encrypted", concat(request.is_encrypted)},
                       {"x-forged", "a\r\nx-split: 1"}};
    for (const std::string_view name : {"host", "x-sent"}) {
      if (const auto value = request.header(name)) {
        headers.emplace_back(concat("x-seen-", name), *value);
      }
    }
    return headers;
  }

  static void stream(const HttpRequest& request, ResponseWriter& writer) {
    writer.start(200, {{"content-type", std::string(kEventStreamType)}});
    const std::size_t count = parameter(request, "n", 10);
    for (std::size_t i = 0; i < count; ++i) {
      writer.write(frame_event("piece", concat(i)));
    }
    writer.finish();
  }

  // "/hang" answers nothing, "/drip" a head and a piece, until "/release".
  void hold(const HttpRequest& request, std::shared_ptr<ResponseWriter> writer) {
    if (request.path == "/drip") {
      writer->start(200, {});
      writer->write("first;");
    }
    std::weak_ptr<ResponseWriter> weak = writer;
    writer->set_notifier([weak, path = request.path] {
      const auto held = weak.lock();
      if (held != nullptr && held->is_gone()) {
        print(concat("gone ", path));
      }
    });
    const std::lock_guard lock(mutex_);
    held_.emplace_back(request.path, std::move(writer));
    print(concat("held ", request.path));
  }

  void release() {
    const std::lock_guard lock(mutex_);
    for (auto& [path, writer] : held_) {
      if (path == "/drip") {
        writer->write("last");
        writer->finish();
      } else {
        writer->respond(200, {}, "released");
      }
    }
    held_.clear();
  }

  TransportOptions options_;
  std::mutex mutex_;
  std::vector<std::pair<std::string, std::shared_ptr<ResponseWriter>>> held_;
  std::vector<std::shared_ptr<ResponseWriter>> broken_;
  std::unique_ptr<Transport> transport_;
};

bool set(TransportOptions& options, std::string_view name, std::string_view value) {
  TransportLimits& limits = options.limits;
  const std::map<std::string_view, std::size_t *> sizes = {
      {"body_bytes", &limits.body_bytes},
      {"header_bytes", &limits.header_bytes},
      {"target_bytes", &limits.target_bytes},
      {"connections", &limits.connections},
      {"streams_per_connection", &limits.streams_per_connection},
      {"buffer_bytes", &limits.buffer_bytes}};
  const std::map<std::string_view, double *> times = {{"header_seconds", &limits.header_seconds},
                                                      {"body_seconds", &limits.body_seconds},
                                                      {"idle_seconds", &limits.idle_seconds},
                                                      {"write_seconds", &limits.write_seconds}};
  const std::map<std::string_view, std::string *> texts = {
      {"host", &options.host},
      {"certificate", &options.tls_certificate},
      {"key", &options.tls_key}};
  if (const auto found = sizes.find(name); found != sizes.end()) {
    return parse_number(value, *found->second);
  }
  if (const auto found = times.find(name); found != times.end()) {
    return parse_number(value, *found->second);
  }
  if (const auto found = texts.find(name); found != texts.end()) {
    *found->second = value;
    return true;
  }
  return name == "port" && parse_number(value, options.port);
}

}  // namespace

int main(int count, char **arguments) {
  TransportOptions options;
  options.port = 0;
  for (const std::string_view argument :
       std::vector<std::string_view>(arguments + 1, arguments + count)) {
    const std::size_t at = std::min(argument.find('='), argument.size());
    if (at == argument.size() || !set(options, argument.substr(0, at), argument.substr(at + 1))) {
      std::cerr << "echo_server: what is " << argument << "?\n";
      return 2;
    }
  }
  Server server(options);
  if (const Status started = server.start(); !started.ok()) {
    std::cerr << started.error().message << "\n";
    return 1;
  }
  double seconds = 0;
  for (std::string line; std::getline(std::cin, line);) {
    if (line.starts_with("stop ")) {
      parse_number(std::string_view(line).substr(5), seconds);
      break;
    }
  }
  server.stop(seconds);
  return 0;
}
