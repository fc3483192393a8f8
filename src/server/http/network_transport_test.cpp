#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <condition_variable>
#include <csignal>
#include <cstring>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <zllm/base/text.h>
#include <zllm/server/http/transport.h>

namespace zllm::server::http {
namespace {

// A plain HTTP/1.1 client on one socket.
class Client {
 public:
  explicit Client(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sockaddr generic{};
    static_assert(sizeof(generic) == sizeof(address));
    std::memcpy(&generic, &address, sizeof(address));
    is_connected_ = ::connect(socket_, &generic, sizeof(generic)) == 0;
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { ::close(socket_); }

  bool is_connected() const { return is_connected_; }
  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) {
        return;
      }
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  void get(std::string_view path) { send(concat("GET ", path, " HTTP/1.1\r\nhost: a\r\n\r\n")); }
  // Reads on until the text is there; what followed it stays for the next call.
  std::string read_until(std::string_view text) {
    while (true) {
      if (const std::size_t at = read_.find(text); at != std::string::npos) {
        const std::string all = read_.substr(0, at + text.size());
        read_.erase(0, at + text.size());
        return all;
      }
      char buffer[4096];
      const ssize_t got = ::recv(socket_, buffer, sizeof(buffer), 0);
      if (got <= 0) {
        return std::exchange(read_, {});
      }
      read_.append(buffer, static_cast<std::size_t>(got));
    }
  }
  std::string read_to_end() { return read_until("\n<never sent>\n"); }

 private:
  int socket_;
  bool is_connected_ = false;
  std::string read_;
};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// What a notifier tells, however often.
class Notice {
 public:
  std::function<void()> teller() {
    return [this] {
      const std::lock_guard lock(mutex_);
      is_told_ = true;
      told_.notify_all();
    };
  }
  void wait() {
    std::unique_lock lock(mutex_);
    told_.wait(lock, [this] { return is_told_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable told_;
  bool is_told_ = false;
};

struct Received {
  HttpRequest request;
  std::shared_ptr<ResponseWriter> writer;
};

// A server whose requests the test takes one by one.
class Served {
 public:
  explicit Served(TransportLimits limits = {}) {
    auto made = serve_network({.port = 0, .limits = limits},
                              [this](HttpRequest request, std::shared_ptr<ResponseWriter> writer) {
                                const std::lock_guard lock(mutex_);
                                waiting_.push_back({std::move(request), std::move(writer)});
                                changed_.notify_all();
                              });
    transport = std::move(made).value();
  }

  Received next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !waiting_.empty(); });
    Received first = std::move(waiting_.front());
    waiting_.erase(waiting_.begin());
    return first;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Received> waiting_;

 public:
  std::unique_ptr<Transport> transport;
};

TEST(NetworkTransport, ARequestArrivesAndItsAnswerGoesBack) {
  Served served;
  Client client(served.transport->port());
  client.send(
      "POST /a/%20b?q=1 HTTP/1.1\r\nHost: here\r\nX-Name: v\r\nContent-Length: 4\r\n\r\nbody");
  const Received got = served.next();
  EXPECT_EQ(got.request.method, "POST");
  EXPECT_EQ(got.request.path, "/a/%20b");
  EXPECT_EQ(got.request.query, "q=1");
  EXPECT_EQ(got.request.header("host"), "here");
  EXPECT_EQ(got.request.header("x-name"), "v");
  EXPECT_EQ(got.request.body, "body");
  EXPECT_EQ(got.request.version, Version::http1);
  EXPECT_FALSE(got.request.is_encrypted);
  EXPECT_TRUE(got.request.peer.starts_with("127.0.0.1:")) << got.request.peer;
  EXPECT_EQ(got.request.refusal, std::nullopt);
  got.writer->respond(201, {{"x-answer", "1"}}, "done");
  const std::string answer = client.read_until("done");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 201 ")) << answer;
  EXPECT_TRUE(contains(answer, "\r\nx-answer: 1\r\n")) << answer;
  EXPECT_TRUE(contains(answer, "\r\ncontent-length: 4\r\n")) << answer;
}

TEST(NetworkTransport, PiecesGoAsTheyAreWrittenAndTheConnectionStays) {
  Served served;
  Client client(served.transport->port());
  for (int round = 0; round < 2; ++round) {
    client.get("/");
    const Received got = served.next();
    got.writer->start(200, {});
    EXPECT_TRUE(got.writer->write("one,"));
    EXPECT_TRUE(contains(client.read_until("one,"), "transfer-encoding: chunked"));
    EXPECT_TRUE(got.writer->write("two."));
    got.writer->finish();
    EXPECT_FALSE(got.writer->write("late"));
    EXPECT_TRUE(contains(client.read_until("\r\n0\r\n\r\n"), "two."));
    EXPECT_FALSE(got.writer->is_gone());
    EXPECT_EQ(got.writer->pending(), 0U);
  }
}

TEST(NetworkTransport, AClientThatLeavesIsNoticedWithoutAWrite) {
  Served served;
  for (const bool has_started : {false, true}) {
    Notice gone;
    Notice again;
    Received got;
    {
      Client client(served.transport->port());
      client.get("/");
      got = served.next();
      got.writer->set_notifier(gone.teller());
      if (has_started) {
        got.writer->start(200, {});
      }
    }
    gone.wait();
    EXPECT_TRUE(got.writer->is_gone());
    EXPECT_FALSE(got.writer->write("x"));
    // A client that has gone already is told of too.
    got.writer->set_notifier(again.teller());
    again.wait();
    got.writer->set_notifier(nullptr);
  }
}

TEST(NetworkTransport, AWriteToAClientThatLeftEndsNoProcess) {
  std::signal(SIGPIPE, SIG_DFL);
  const Served served;
  std::raise(SIGPIPE);
}

TEST(NetworkTransport, ASlowReaderKeepsWhatItHasNotTakenPending) {
  constexpr std::size_t kBuffer = 1 << 16;
  Served served({.buffer_bytes = kBuffer});
  Client client(served.transport->port());
  client.get("/");
  const Received got = served.next();
  got.writer->start(200, {});
  // More than the socket's own buffers hold.
  std::size_t written = 0;
  while (got.writer->pending() < 64 * kBuffer) {
    ASSERT_TRUE(got.writer->write(std::string(kBuffer, 'x')));
    written += kBuffer;
  }
  Notice room;
  got.writer->set_notifier(room.teller());
  got.writer->finish();
  const std::string body = client.read_until("\r\n0\r\n\r\n");
  room.wait();
  EXPECT_GT(body.size(), written);
  got.writer->set_notifier(nullptr);
}

TEST(NetworkTransport, LimitsAskForARefusal) {
  Served served({.body_bytes = 4, .header_bytes = 100, .target_bytes = 10});
  const auto refusal = [&](const std::string& request) {
    Client client(served.transport->port());
    client.send(request);
    const Received got = served.next();
    got.writer->respond(got.request.refusal.value_or(200), {}, got.request.refusal_reason);
    EXPECT_TRUE(contains(client.read_to_end(), got.request.refusal_reason));
    return got.request.refusal;
  };
  const std::string big(200, 'x');
  EXPECT_EQ(refusal("GET /abcdefghij HTTP/1.1\r\nhost: a\r\n\r\n"), 414);
  EXPECT_EQ(refusal(concat("GET / HTTP/1.1\r\nhost: a\r\nx: ", big, "\r\n\r\n")), 431);
  EXPECT_EQ(refusal("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\n"), 413);
  EXPECT_EQ(refusal("POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n"
                    "3\r\nabc\r\n2\r\nde\r\n"),
            413);
  EXPECT_EQ(refusal("GET / HTTP/1.1\r\n\r\n"), 400);
}

TEST(NetworkTransport, WhatIsNoRequestIsRefusedInTheServersWords) {
  Served served({.header_bytes = 100, .target_bytes = 10, .header_seconds = 0.05});
  const std::string huge(1 << 17, 'x');  // more than is read of a head, less than sockets hold
  const std::vector<std::pair<std::string, int>> cases = {
      {"not http at all\r\n\r\n", 400},
      {"GET / HTTP/9.9\r\nhost: a\r\n\r\n", 400},
      {concat("GET / HTTP/1.1\r\nhost: a\r\nx: ", huge, "\r\n\r\n"), 431},
      {"P", 408},
      {"PRI * HTTP/2", 408},
      {"GET / HTTP/1.1\r\nho", 408}};
  for (const auto& [sent, status] : cases) {
    Client client(served.transport->port());
    client.send(sent);
    const Received got = served.next();
    EXPECT_EQ(got.request.refusal, status) << sent.substr(0, 20);
    EXPECT_EQ(got.request.method, "");
    EXPECT_EQ(got.request.path, "");
    EXPECT_TRUE(got.request.peer.starts_with("127.0.0.1:")) << got.request.peer;
    got.writer->respond(status, {{"x-why", "said"}}, got.request.refusal_reason);
    const std::string answer = client.read_to_end();
    EXPECT_TRUE(answer.starts_with(concat("HTTP/1.1 ", status, " "))) << answer;
    EXPECT_TRUE(contains(answer, "\r\nx-why: said\r\n")) << answer;
    EXPECT_TRUE(contains(answer, "\r\nconnection: close\r\n")) << answer;
    EXPECT_TRUE(answer.ends_with(concat("\r\n\r\n", got.request.refusal_reason))) << answer;
  }
}

TEST(NetworkTransport, WhatFollowsAnAnswerAndIsNoRequestComesAfterIt) {
  Served served;
  for (const bool is_stream : {false, true}) {
    Client client(served.transport->port());
    client.send("GET / HTTP/1.1\r\nhost: a\r\n\r\nnonsense\r\n\r\n");
    const Received first = served.next();
    if (is_stream) {
      first.writer->start(200, {});
      first.writer->write("first");
      first.writer->finish();
    } else {
      first.writer->respond(200, {}, "first");
    }
    const Received second = served.next();
    EXPECT_EQ(second.request.refusal, 400);
    second.writer->respond(400, {}, "second");
    const std::string answers = client.read_to_end();
    EXPECT_TRUE(contains(answers, "first")) << answers;
    EXPECT_TRUE(answers.ends_with("second")) << answers;
  }
}

TEST(NetworkTransport, BodiesOfAllRequestsHaveALimitTogether) {
  Served served({.body_bytes = 100, .total_body_bytes = 8});
  const std::uint16_t port = served.transport->port();
  const auto post = [](std::string_view body) {
    return concat("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ", body.size(), "\r\n\r\n", body);
  };
  const auto refusal = [&](std::string_view body) {
    Client client(port);
    client.send(post(body));
    const Received got = served.next();
    got.writer->respond(200, {}, "end");
    client.read_until("end");
    return got.request.refusal;
  };
  {
    Client client(port);
    client.send(post("12345"));
    const Received held = served.next();
    EXPECT_EQ(held.request.body, "12345");
    EXPECT_EQ(refusal("1234"), 429);
    EXPECT_EQ(refusal("123"), std::nullopt);
    held.writer->respond(200, {}, "end");
    client.read_until("end");
  }
  // Answered, but the room comes back only when everybody has let go of the request.
  while (refusal("12345678")) {
  }
  // What would never fit is too large.
  EXPECT_EQ(refusal("123456789"), 413);
}

TEST(NetworkTransport, HostsThatAreNoneAreRefused) {
  Served served;
  const auto refusal = [&](std::string_view host) {
    Client client(served.transport->port());
    client.send(concat("GET / HTTP/1.1\r\nhost: ", host, "\r\n\r\n"));
    const Received got = served.next();
    got.writer->respond(200, {}, "end");
    client.read_until("end");
    return got.request.refusal;
  };
  for (const std::string_view host : {"", "a", "a.example:80", "127.0.0.1:1", "[::1]:80", "A_b"}) {
    EXPECT_EQ(refusal(host), std::nullopt) << host;
  }
  for (const std::string_view host : {"a b", "a/b", "http://a", "[::1", "me@a", "a:b:c", "\xff"}) {
    EXPECT_EQ(refusal(host), 400) << host;
  }
}

TEST(NetworkTransport, AWriterThatIsDroppedBreaksTheStream) {
  Served served;
  Client client(served.transport->port());
  client.get("/");
  {
    const Received got = served.next();
    got.writer->start(200, {});
    got.writer->write("part");
    EXPECT_TRUE(contains(client.read_until("part"), "200 OK"));
  }
  EXPECT_FALSE(contains(client.read_to_end(), "\r\n0\r\n"));
}

TEST(NetworkTransport, HeadersCannotSplitAnAnswer) {
  Served served;
  Client client(served.transport->port());
  client.get("/");
  served.next().writer->respond(200, {{"x-bad", "a\r\nx-split: 1"}, {"b ad", "1"}}, "end");
  const std::string answer = client.read_until("end");
  EXPECT_FALSE(contains(answer, "x-split")) << answer;
  EXPECT_FALSE(contains(answer, "b ad")) << answer;
}

TEST(NetworkTransport, AStopLetsARunningAnswerEnd) {
  Served served;
  const std::uint16_t port = served.transport->port();
  Client client(port);
  client.get("/");
  const Received got = served.next();
  got.writer->start(200, {});
  auto stopping = std::async(std::launch::async, [&] { served.transport->stop(1e6); });
  got.writer->write("rest");
  got.writer->finish();
  EXPECT_TRUE(contains(client.read_to_end(), "rest\r\n0\r\n\r\n"));
  stopping.get();
  EXPECT_FALSE(Client(port).is_connected());
}

TEST(NetworkTransport, WhoComesDuringAStopReachesTheHandlerAndIsNotWaitedFor) {
  Served served;
  const std::uint16_t port = served.transport->port();
  Client idle(port);
  Client client(port);
  client.get("/");
  const Received got = served.next();
  auto stopping = std::async(std::launch::async, [&] { served.transport->stop(1e6); });
  EXPECT_EQ(idle.read_to_end(), "");  // the stop has begun
  Client late(port);
  late.get("/late");
  const Received refused = served.next();
  EXPECT_EQ(refused.request.path, "/late");
  refused.writer->respond(503, {}, "going");
  EXPECT_TRUE(contains(late.read_until("going"), "503"));
  got.writer->respond(200, {}, "end");
  stopping.get();
  EXPECT_TRUE(contains(client.read_to_end(), "end"));
  EXPECT_FALSE(Client(port).is_connected());
}

TEST(NetworkTransport, AStopCutsAndWritersOutliveTheTransport) {
  Served served;
  Client client(served.transport->port());
  client.get("/");
  const Received got = served.next();
  int calls = 0;
  got.writer->set_notifier([&] { ++calls; });
  served.transport->stop(0);
  served.transport->stop(0);
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(got.writer->is_gone());
  served.transport = nullptr;
  got.writer->start(200, {});
  EXPECT_FALSE(got.writer->write("x"));
  got.writer->finish();
  got.writer->reset();
  got.writer->set_notifier([&] { ++calls; });
  EXPECT_EQ(client.read_to_end(), "");
}

TEST(NetworkTransport, ErrorsNameWhatIsWrong) {
  const Served served;
  const std::uint16_t port = served.transport->port();
  const auto ignore = [](HttpRequest, const std::shared_ptr<ResponseWriter>&) {};
  const auto message = [&](TransportOptions options) {
    auto made = serve_network(options, ignore);
    return made.ok() ? std::string("it served") : made.error().message;
  };
  EXPECT_EQ(message({.port = port}), concat("127.0.0.1:", port, ": address in use"));
  EXPECT_EQ(message({.port = 0, .tls_certificate = "no/cert.pem", .tls_key = "no/key.pem"}),
            "no/cert.pem: there is no such file");
  EXPECT_TRUE(contains(message({.port = 0, .tls_certificate = "LICENSE", .tls_key = "LICENSE"}),
                       "LICENSE: it holds no certificate"));
  EXPECT_FALSE(contains(message({.port = 0, .tls_key = "LICENSE"}), "served"));
  EXPECT_TRUE(contains(message({.host = "192.0.2.1", .port = 0}), "192.0.2.1:0"));
  EXPECT_TRUE(contains(message({.limits = {.idle_seconds = 0}}), "idle_seconds"));
  EXPECT_TRUE(contains(message({.limits = {.connections = 0}}), "connections"));
}

}  // namespace
}  // namespace zllm::server::http
