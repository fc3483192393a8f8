#include <zllm/server/server.h>

#include <atomic>
#include <cstdint>
#include <latch>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <zllm/base/text.h>
#include <zllm/server/http/in_process_transport.h>

#include "tiny_model.h"
#include "told.h"

// The whole service over real models, many clients at once, without a network: every answer is the
// one that its request gets alone, and nothing stays behind.
namespace zllm::test {
namespace {

constexpr std::size_t kClients = 48;
constexpr std::size_t kBufferBytes = 200;  // less than most events: slow clients stall their answer

struct LoadSetup {
  std::string fixture;
  std::uint64_t context = 0;
  std::uint64_t cache_tokens = 0;
  bool has_prefix_cache = true;
  std::uint64_t swap_bytes = 0;
};

void PrintTo(const LoadSetup& setup, std::ostream *out) {
  *out << setup.fixture << (setup.has_prefix_cache ? " with" : " without") << " prefix cache";
}

// What a client sends.
struct Question {
  Dialect dialect = Dialect::chat;
  std::string path;
  std::string body;
  bool is_stream = false;
};

std::string user_message(std::size_t number) {
  return concat(R"({"role":"user","content":")", std::string(1 + number % 9, 'x'), " number ",
                number, R"("})");
}

Question question(std::size_t number) {
  constexpr std::string_view kSystem = R"({"role":"system","content":"be kind to all."})";
  const std::size_t tokens = 3 + number * 5 % 37;
  const bool is_stream = number % 3 != 1;
  const std::string more = concat(R"("stream":)", is_stream ? "true" : "false");
  Question asked{.dialect = static_cast<Dialect>(number % 4), .path = {}, .body = {}};
  asked.is_stream = is_stream;
  switch (asked.dialect) {
    case Dialect::chat:
      asked.path = "/v1/chat/completions";
      asked.body = concat(R"({"messages":[)", kSystem, ",", user_message(number),
                          R"(],"max_tokens":)", tokens, R"(,"seed":)", number, R"(,"temperature":)",
                          number % 8 == 0 ? 1 : 0, number % 5 == 0 ? R"(,"n":2)" : "",
                          number % 3 == 0 ? R"(,"response_format":{"type":"json_object"})" : "",
                          ",", more, "}");
      break;
    case Dialect::completions:
      asked.path = "/v1/completions";
      asked.body = concat(R"({"prompt":"once upon a time )", number % 6, R"(","max_tokens":)",
                          tokens, R"(,"seed":)", number, R"(,"temperature":1)",
                          number % 5 == 0 ? R"(,"n":2)" : "", ",", more, "}");
      break;
    case Dialect::responses:
      asked.path = "/v1/responses";
      asked.body = concat(R"({"input":[)", user_message(number),
                          R"(],"instructions":"be kind to all.","temperature":0,)",
                          R"("max_output_tokens":)", 16 + tokens, ",", more, "}");
      break;
    case Dialect::messages:
      asked.path = "/v1/messages";
      asked.body =
          concat(R"({"model":"tiny","system":"be kind to all.","messages":[)", user_message(number),
                 R"(],"temperature":0,"max_tokens":)", tokens, ",", more, "}");
      break;
  }
  return asked;
}

enum class Conduct : std::uint8_t { reads, waits, leaves_at_once, leaves_midway };

// A third are slow or vanish.
Conduct conduct_of(std::size_t number) {
  if (number % 3 != 0) {
    return Conduct::reads;
  }
  return static_cast<Conduct>(1 + number / 3 % 3);
}

class ServiceLoad : public testing::TestWithParam<LoadSetup> {
 protected:
  ServiceLoad() : model_(GetParam().fixture) {
    const LoadSetup& setup = GetParam();
    EngineOptions options{.model = model_.path(),
                          .threads = 2,
                          .context = setup.context,
                          .cache_tokens = setup.cache_tokens,
                          .max_concurrent = 6,
                          .prefix_cache = setup.has_prefix_cache,
                          .swap_bytes = setup.swap_bytes,
                          .chat_template = TinyModel::chat_template()};
    auto engine = Engine::load(std::move(options));
    EXPECT_TRUE(engine.ok()) << engine.error().message;
    const std::shared_ptr<Engine> shared = *std::move(engine);
    engine_ = shared.get();
    server::ServerOptions served;
    served.transport.limits.buffer_bytes = kBufferBytes;
    served.limits.workers = 3;
    auto server = server::Server::create(
        std::move(served),
        std::make_unique<server::ModelSet>(std::vector<std::string>{"tiny"},
                                           std::vector<std::shared_ptr<Engine>>{shared}));
    EXPECT_TRUE(server.ok()) << server.error().message;
    server_ = *std::move(server);
    transport_ = std::make_unique<server::http::InProcessTransport>(
        server_->handler(), server::http::TransportLimits{.buffer_bytes = kBufferBytes});
  }

  using Exchange = std::unique_ptr<server::http::InProcessExchange>;

  Exchange send(std::string method, std::string path, std::string body) {
    ++begun_;
    return transport_->send({.method = std::move(method),
                             .path = std::move(path),
                             .body = std::move(body),
                             .peer = "127.0.0.1:1"});
  }
  Exchange send(const Question& asked) { return send("POST", asked.path, asked.body); }

  Told told(const Question& asked, server::http::InProcessExchange& exchange) {
    const int status = exchange.status();
    const std::string text = exchange.read_all();
    EXPECT_EQ(status, 200) << asked.body << text;
    EXPECT_EQ(exchange.end(), server::http::InProcessExchange::End::finished);
    Told heard =
        asked.is_stream ? read_stream(asked.dialect, text) : read_body(asked.dialect, text);
    EXPECT_EQ(heard.fault, "") << asked.body;
    EXPECT_TRUE(heard.is_whole) << asked.body << text;
    return heard;
  }

  Told alone(std::size_t number) {
    const Question asked = question(number);
    return told(asked, *send(asked));
  }

  // A client that goes; what it left is the engine's to clean up.
  void leave(const Question& asked, bool is_midway) {
    const Exchange exchange = send(asked);
    if (is_midway) {
      exchange->status();
      exchange->read();
    }
    exchange->leave();
  }

  void cancel_background() {
    ++begun_;  // goes on as one more when its client has its answer
    const Exchange begun =
        send("POST", "/v1/responses", R"({"input":"a long one","background":true,"store":true})");
    auto json = Json::parse(begun->read_all(), "response");
    ASSERT_TRUE(json.ok());
    ASSERT_NE(json->find("id"), nullptr) << json->dump();
    const std::string path = "/v1/responses/" + *json->find("id")->as_string();
    const Exchange cancelled = send("POST", path + "/cancel", "");
    // Or it had ended already.
    EXPECT_TRUE(cancelled->status() == 200 || cancelled->status() == 400) << cancelled->read_all();
    EXPECT_EQ(send("DELETE", path, "")->status(), 200);
  }

  // What each client heard, of all at once and one more that cancels; nothing of those that left.
  std::vector<std::optional<Told>> hear_all_at_once() {
    std::vector<std::optional<Told>> heard(kClients);
    std::latch all_sent(kClients);
    std::size_t quick = 0;
    for (std::size_t i = 0; i < kClients; ++i) {
      quick += conduct_of(i) == Conduct::reads ? 1u : 0u;
    }
    // Slow clients wait until all others are done, which must not need them.
    std::latch quick_done(static_cast<std::ptrdiff_t>(quick));
    std::vector<std::thread> clients;
    for (std::size_t i = 0; i < kClients; ++i) {
      clients.emplace_back([&, i] {
        const Question asked = question(i);
        const Conduct conduct = conduct_of(i);
        all_sent.arrive_and_wait();
        if (conduct == Conduct::leaves_at_once || conduct == Conduct::leaves_midway) {
          leave(asked, conduct == Conduct::leaves_midway);
          return;
        }
        const Exchange exchange = send(asked);
        if (conduct == Conduct::waits) {
          quick_done.wait();
        }
        heard[i] = told(asked, *exchange);
        if (conduct == Conduct::reads) {
          quick_done.count_down();
        }
      });
    }
    std::thread canceller([this] { cancel_background(); });
    for (std::thread& client : clients) {
      client.join();
    }
    canceller.join();
    return heard;
  }

  // Requests that the server is through with, whatever became of them.
  std::uint64_t ended_requests() {
    constexpr std::string_view kCounter = "zllm_requests_total{";
    const std::string metrics = send("GET", "/metrics", "")->read_all();
    std::uint64_t ended = 0;
    for (std::size_t at = metrics.find(kCounter); at != std::string::npos;
         at = metrics.find(kCounter, at + 1)) {
      const std::string line = metrics.substr(at, metrics.find('\n', at) - at);
      std::uint64_t count = 0;
      EXPECT_TRUE(parse_number(line.substr(line.rfind(' ') + 1), count)) << line;
      ended += count;
    }
    return ended;
  }

  // Once nothing runs or waits any more. Not before the server is through with all requests: what a
  // client left may not even have come to the engine.
  engine::Statistics at_rest() {
    for (std::uint64_t begun = begun_; ended_requests() != begun; begun = begun_) {
      std::this_thread::yield();
    }
    engine::Statistics now = engine_->statistics();
    while (now.running_requests + now.queued_requests + now.running_sequences != 0) {
      std::this_thread::yield();
      now = engine_->statistics();
    }
    return now;
  }

  TinyModel model_;
  std::atomic<std::uint64_t> begun_ = 0;  // requests
  Engine *engine_ = nullptr;  // the server's, which ends it while its workers are still there
  std::unique_ptr<server::Server> server_;
  std::unique_ptr<server::http::InProcessTransport> transport_;
};

TEST_P(ServiceLoad, EveryAnswerIsItsSingleRunAndNothingStays) {
  std::vector<Told> expected;
  for (std::size_t i = 0; i < kClients; ++i) {
    expected.push_back(alone(i));
  }
  const std::vector<std::optional<Told>> heard = hear_all_at_once();
  std::size_t finished = 0;
  for (std::size_t i = 0; i < kClients; ++i) {
    const bool stays = conduct_of(i) == Conduct::reads || conduct_of(i) == Conduct::waits;
    ASSERT_EQ(heard[i].has_value(), stays) << i;
    if (stays) {
      EXPECT_EQ(heard[i]->choices, expected[i].choices) << question(i).body;
      ++finished;
    }
  }
  EXPECT_GT(finished, kClients / 2);

  const engine::Statistics now = at_rest();
  EXPECT_EQ(now.failed_requests, 0u);
  EXPECT_EQ(now.refused_requests, 0u);
  if (!GetParam().has_prefix_cache) {
    EXPECT_EQ(now.used_rows, 0u);
    EXPECT_EQ(now.cache_entries, 0u);
  }
  EXPECT_EQ(send("GET", "/ready", "")->status(), 200);
  // What the cache kept gives the same answers still.
  for (std::size_t i = 0; i < kClients; i += 7) {
    EXPECT_EQ(alone(i).choices, expected[i].choices) << question(i).body;
  }
}

TEST_P(ServiceLoad, AnswersThatWaitEndWithTheirClient) {
  std::vector<Exchange> exchanges;
  for (std::size_t i = 0; i < kClients; ++i) {
    exchanges.push_back(send(question(i)));
  }
  for (const Exchange& exchange : exchanges) {
    exchange->leave();
  }
  EXPECT_EQ(at_rest().failed_requests, 0u);
  const Question asked = question(2);
  EXPECT_TRUE(told(asked, *send(asked)).is_whole);
}

INSTANTIATE_TEST_SUITE_P(
    Models, ServiceLoad,
    testing::Values(LoadSetup{.fixture = "qwen3-wide", .context = 128, .cache_tokens = 288},
                    LoadSetup{.fixture = "qwen3-wide",
                              .context = 128,
                              .cache_tokens = 288,
                              .has_prefix_cache = false,
                              .swap_bytes = 1 << 20},
                    LoadSetup{.fixture = "kimi-linear-hub", .context = 256, .cache_tokens = 512},
                    LoadSetup{.fixture = "kimi-linear-hub",
                              .context = 256,
                              .cache_tokens = 512,
                              .has_prefix_cache = false,
                              .swap_bytes = 1 << 20}));

}  // namespace
}  // namespace zllm::test
