#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <zllm/server/http/in_process_transport.h>

namespace zllm::server::http {
namespace {

using End = InProcessExchange::End;

// A transport whose handler only keeps what it gets.
struct Kept {
  explicit Kept(TransportLimits limits = {})
      : transport(
            [this](HttpRequest got, std::shared_ptr<ResponseWriter> with) {
              request = std::move(got);
              writer = std::move(with);
            },
            limits) {}

  HttpRequest request;
  std::shared_ptr<ResponseWriter> writer;
  InProcessTransport transport;
};

TEST(InProcessTransport, AnAnswerComesWhole) {
  InProcessTransport transport([](HttpRequest request, std::shared_ptr<ResponseWriter> writer) {
    EXPECT_EQ(request.header("x-name"), "value");
    EXPECT_EQ(request.header("x-none"), std::nullopt);
    writer->respond(201, {{"x-path", request.path}}, request.body);
  });
  const auto exchange = transport.send(
      {.method = "POST", .path = "/p", .headers = {{"x-name", "value"}}, .body = "b"});
  EXPECT_EQ(exchange->status(), 201);
  EXPECT_EQ(exchange->headers(), (Headers{{"x-path", "/p"}}));
  EXPECT_EQ(exchange->read_all(), "b");
  EXPECT_EQ(exchange->end(), End::finished);
}

TEST(InProcessTransport, PiecesComeOneByOne) {
  Kept kept;
  const auto exchange = kept.transport.send({.path = "/"});
  EXPECT_EQ(exchange->try_read(), std::nullopt);
  EXPECT_FALSE(kept.writer->write("before the head"));
  kept.writer->start(200, {});
  EXPECT_TRUE(kept.writer->write("a"));
  EXPECT_TRUE(kept.writer->write("b"));
  EXPECT_EQ(kept.writer->pending(), 2U);
  EXPECT_EQ(exchange->read(), "a");
  EXPECT_EQ(kept.writer->pending(), 1U);
  kept.writer->finish();
  EXPECT_FALSE(kept.writer->write("after the end"));
  EXPECT_EQ(exchange->read(), "b");
  EXPECT_EQ(exchange->read(), std::nullopt);
  EXPECT_EQ(exchange->end(), End::finished);
  EXPECT_FALSE(kept.writer->is_gone());
}

TEST(InProcessTransport, ASlowReaderIsToldOfAndAskedForAgain) {
  int calls = 0;  // outlives the exchange, whose end is told too
  Kept kept({.buffer_bytes = 4});
  const auto exchange = kept.transport.send({.path = "/"});
  kept.writer->set_notifier([&] { ++calls; });
  kept.writer->start(200, {});
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(kept.writer->write("x"));
  }
  for (int left = 4; left >= 2; --left) {
    EXPECT_EQ(exchange->read(), "x");
    EXPECT_EQ(kept.writer->pending(), static_cast<std::size_t>(left));
    EXPECT_EQ(calls, 0);
  }
  EXPECT_EQ(exchange->read(), "x");
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(exchange->read(), "x");
  EXPECT_EQ(calls, 1);
}

TEST(InProcessTransport, AClientThatLeavesIsGone) {
  Kept kept;
  const auto exchange = kept.transport.send({.path = "/"});
  int calls = 0;
  kept.writer->set_notifier([&] { ++calls; });
  kept.writer->start(200, {});
  EXPECT_TRUE(kept.writer->write("unread"));
  exchange->leave();
  exchange->leave();
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(kept.writer->is_gone());
  EXPECT_FALSE(kept.writer->write("more"));
  EXPECT_EQ(kept.writer->pending(), 0U);
  kept.writer->respond(500, {}, "too late");
  EXPECT_EQ(exchange->end(), End::left);
  kept.writer->set_notifier([&] { ++calls; });
  EXPECT_EQ(calls, 2);
}

TEST(InProcessTransport, AWriterThatGoesUnfinishedBreaksTheStream) {
  Kept kept;
  const auto exchange = kept.transport.send({.path = "/"});
  kept.writer->start(200, {});
  kept.writer = nullptr;
  EXPECT_EQ(exchange->wait(), End::reset);
  EXPECT_EQ(exchange->status(), 200);
  EXPECT_EQ(exchange->read(), std::nullopt);
}

TEST(InProcessTransport, LimitsRefuseAsTheNetworkDoes) {
  Kept kept({.body_bytes = 4, .header_bytes = 8, .target_bytes = 6});
  const auto refusal = [&](HttpRequest request) {
    static_cast<void>(kept.transport.send(std::move(request)));
    return kept.request.refusal;
  };
  EXPECT_EQ(refusal({.path = "/abcdef"}), 414);
  EXPECT_EQ(refusal({.path = "/", .headers = {{"name", "value"}}}), 431);
  EXPECT_EQ(refusal({.path = "/", .body = "12345"}), 413);
  EXPECT_EQ(kept.request.body, "");
  EXPECT_EQ(refusal({.path = "/abcde", .headers = {{"nam", "value"}}, .body = "1234"}),
            std::nullopt);
}

TEST(InProcessTransport, AStopCutsWhatDoesNotEnd) {
  Kept kept;
  const auto exchange = kept.transport.send({.path = "/"});
  int calls = 0;
  kept.writer->set_notifier([&] { ++calls; });
  kept.transport.stop(0);
  EXPECT_EQ(exchange->end(), End::reset);
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(kept.writer->is_gone());
  EXPECT_EQ(kept.transport.send({.path = "/"})->end(), End::reset);
}

TEST(InProcessTransport, AStopWaitsForWhatEnds) {
  Kept kept;
  const auto exchange = kept.transport.send({.path = "/"});
  std::jthread finisher([&] { kept.writer->respond(200, {}, "done"); });
  kept.transport.stop(1e6);
  EXPECT_EQ(exchange->end(), End::finished);
  EXPECT_EQ(exchange->read_all(), "done");
}

// Readers, writers and leavers at once, for ThreadSanitizer.
TEST(InProcessTransport, ThreadsMayMeet) {
  constexpr int kRequests = 32;
  constexpr int kPieces = 200;
  std::vector<std::jthread> writers;
  std::atomic<int> notified = 0;
  InProcessTransport transport(
      [&](HttpRequest, std::shared_ptr<ResponseWriter> writer) {
        writers.emplace_back([&, writer] {
          writer->set_notifier([&] { ++notified; });
          writer->start(200, {});
          for (int i = 0; i < kPieces && writer->write("piece"); ++i) {
          }
          writer->finish();
          writer->set_notifier(nullptr);
        });
      },
      {.buffer_bytes = 16});
  std::vector<std::jthread> readers;
  std::atomic<std::size_t> bytes = 0;
  for (int i = 0; i < kRequests; ++i) {
    readers.emplace_back([&, i, exchange = transport.send({.path = "/"})] {
      if (i % 4 == 0) {
        static_cast<void>(exchange->read());
        exchange->leave();
      } else {
        bytes += exchange->read_all().size();
      }
    });
  }
  readers.clear();
  writers.clear();
  EXPECT_EQ(bytes, std::size_t{kRequests / 4 * 3} * kPieces * 5);
}

}  // namespace
}  // namespace zllm::server::http
