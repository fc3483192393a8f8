#include <zllm/server/server.h>

#include <chrono>
#include <future>
#include <latch>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <zllm/base/json.h>
#include <zllm/base/text.h>
#include <zllm/server/http/in_process_transport.h>

namespace zllm::server {
namespace {

using testing::HasSubstr;

// A server without models and a client beside it.
class Bench {
 public:
  explicit Bench(std::vector<std::string> keys = {}, std::vector<std::string> origins = {})
      : Bench(ServerOptions{.api_keys = std::move(keys), .cors_origins = std::move(origins)}) {}
  explicit Bench(ServerOptions options)
      : server_(make(std::move(options))), transport(server_->handler(), {.body_bytes = 1000}) {}

  struct Reply {
    int status = 0;
    http::Headers headers;
    std::string body;

    std::string header(std::string_view name) const {
      for (const auto& [key, value] : headers) {
        if (key == name) {
          return value;
        }
      }
      return {};
    }
  };

  Reply send(std::string method, std::string path, http::Headers headers = {},
             std::string body = {}) {
    http::HttpRequest request;
    request.method = std::move(method);
    request.path = std::move(path);
    request.headers = std::move(headers);
    request.body = std::move(body);
    return send(std::move(request));
  }

  Reply send(http::HttpRequest request) {
    request.peer = "127.0.0.1:5";
    const auto exchange = transport.send(std::move(request));
    Reply reply{.status = exchange->status(), .headers = exchange->headers(), .body = {}};
    reply.body = exchange->read_all();
    return reply;
  }

  Server& server() { return *server_; }

 private:
  static std::unique_ptr<Server> make(ServerOptions options) {
    auto server = Server::create(
        std::move(options), std::make_unique<ModelSet>(std::vector<std::string>(),
                                                       std::vector<std::shared_ptr<Engine>>()));
    EXPECT_TRUE(server.ok());
    return *std::move(server);
  }

  std::unique_ptr<Server> server_;

 public:
  http::InProcessTransport transport;
};

// "/v1/responses/{id}" with something in place of the name.
std::string example_path(std::string pattern) {
  const std::size_t begin = pattern.find('{');
  if (begin != std::string::npos) {
    pattern.replace(begin, pattern.find('}') - begin + 1, "some");
  }
  return pattern;
}

TEST(ServerTest, NoRouteButHealthIsOpenWhenThereAreKeys) {
  Bench bench({"secret"});
  int closed = 0;
  for (const Route& route : bench.server().routes().routes()) {
    const std::string path = example_path(route.pattern);
    const auto bare = bench.send(route.method, path, {}, "{}");
    const auto wrong = bench.send(route.method, path, {{"authorization", "Bearer secre"}}, "{}");
    const auto right = bench.send(route.method, path, {{"authorization", "Bearer secret"}}, "{}");
    EXPECT_NE(right.status, 401) << path;
    if (path == "/health") {
      EXPECT_EQ(bare.status, 200);
      continue;
    }
    ++closed;
    EXPECT_EQ(bare.status, 401) << path;
    EXPECT_EQ(wrong.status, 401) << path;
    EXPECT_THAT(bare.header("www-authenticate"), HasSubstr("Bearer"));
    EXPECT_TRUE(Json::parse(bare.body, "body").ok()) << bare.body;
  }
  EXPECT_GE(closed, 14);
  EXPECT_EQ(bench.send("GET", "/no/such/route").status, 401);
}

TEST(ServerTest, ErrorsHaveTheShapeOfTheirRoute) {
  Bench bench;
  const auto chat = bench.send("POST", "/v1/chat/completions", {}, "{\"a\":");
  EXPECT_EQ(chat.status, 400);
  auto body = Json::parse(chat.body, "body");
  ASSERT_TRUE(body.ok());
  const Json *error = body->find("error");
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(*error->find("type")->as_string(), "invalid_request_error");
  EXPECT_NE(error->find("message"), nullptr);
  EXPECT_NE(error->find("param"), nullptr);

  const auto message = bench.send("POST", "/v1/messages", {}, "[]");
  body = Json::parse(message.body, "body");
  ASSERT_TRUE(body.ok());
  EXPECT_EQ(*body->find("type")->as_string(), "error");
  EXPECT_EQ(*body->find("error")->find("type")->as_string(), "invalid_request_error");
  EXPECT_EQ(message.header("request-id"), *body->find("request_id")->as_string());
}

TEST(ServerTest, UnknownRoutesAndMethods) {
  Bench bench;
  EXPECT_EQ(bench.send("GET", "/v1/chat/completion").status, 404);
  const auto wrong = bench.send("GET", "/v1/chat/completions");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.header("allow"), "POST");
  EXPECT_EQ(bench.send("HEAD", "/health").status, 200);
}

TEST(ServerTest, BodiesThatAreTooLarge) {
  Bench bench;
  const auto reply = bench.send("POST", "/v1/chat/completions", {}, std::string(1001, ' '));
  EXPECT_EQ(reply.status, 413);
  EXPECT_TRUE(Json::parse(reply.body, "body").ok());
}

TEST(ServerTest, RefusesWhatComesWhileItCloses) {
  Bench bench;
  bench.server().refuse_new();
  const auto reply = bench.send("POST", "/v1/chat/completions", {}, "{}");
  EXPECT_EQ(reply.status, 503);
  EXPECT_FALSE(reply.header("retry-after").empty());
  // How things stand can still be asked for.
  EXPECT_EQ(bench.send("GET", "/health").status, 200);
  EXPECT_EQ(bench.send("GET", "/metrics").status, 200);
  const auto ready = bench.send("GET", "/ready");
  EXPECT_EQ(ready.status, 503);
  EXPECT_FALSE(ready.header("retry-after").empty());
}

TEST(ServerTest, WhatIsNoRequestIsRefusedWithoutAKey) {
  Bench bench({"secret"});
  http::HttpRequest nothing;
  nothing.refusal = 431;
  nothing.refusal_reason = "too large";
  const auto reply = bench.send(std::move(nothing));
  EXPECT_EQ(reply.status, 431);
  EXPECT_FALSE(reply.header("x-request-id").empty());
  const auto body = Json::parse(reply.body, "body");
  ASSERT_TRUE(body.ok());
  EXPECT_EQ(*body->find("error")->find("message")->as_string(), "too large");
}

TEST(ServerTest, WhoFindsNoRoomIsToldToComeBack) {
  Bench bench;
  for (const int status : {429, 503}) {
    http::HttpRequest request;
    request.method = status == 429 ? "POST" : "";
    request.path = status == 429 ? "/v1/messages" : "";
    request.refusal = status;
    request.refusal_reason = "full";
    const auto reply = bench.send(std::move(request));
    EXPECT_EQ(reply.status, status);
    EXPECT_FALSE(reply.header("retry-after").empty());
    EXPECT_THAT(reply.body, HasSubstr("full"));
    EXPECT_THAT(reply.body, HasSubstr("rate_limit_error"));
  }
}

TEST(ServerTest, ARequestKeepsTheIdThatItCameWith) {
  Bench bench;
  const auto id_of = [&](std::string given) {
    return bench.send("GET", "/health", {{"x-request-id", std::move(given)}})
        .header("x-request-id");
  };
  EXPECT_EQ(id_of("a-1/b:2"), "a-1/b:2");
  EXPECT_EQ(id_of(std::string(128, 'a')), std::string(128, 'a'));
  for (const std::string& given :
       {std::string(), std::string("two words"), std::string("\t"), std::string("\xc3\xa9"),
        std::string(129, 'a'), std::string("a\r\nb: c")}) {
    EXPECT_THAT(id_of(given), testing::StartsWith("req_")) << given;
  }
}

TEST(ServerTest, AClientThatLeftUnansweredCountsAs499) {
  Bench bench;
  RequestRecord seen;
  {
    Metrics metrics;
    const RequestLog log({}, false);
    http::InProcessTransport unanswered(
        [&](http::HttpRequest request, const std::shared_ptr<http::ResponseWriter>& writer) {
          Call call(std::move(request), writer, metrics, log);
          call.report();
          seen = call.record();
        },
        {});
    unanswered.send({});
  }
  EXPECT_EQ(seen.status, 499);
}

TEST(ServerTest, PreflightsOfListedOriginsAlone) {
  Bench bench({"secret"}, {"https://good.example"});
  const http::Headers wanted = {{"origin", "https://good.example"},
                                {"access-control-request-method", "POST"}};
  const auto good = bench.send("OPTIONS", "/v1/chat/completions", wanted);
  EXPECT_EQ(good.status, 204);
  EXPECT_EQ(good.header("access-control-allow-origin"), "https://good.example");
  EXPECT_EQ(good.header("access-control-allow-credentials"), "");
  const auto bad =
      bench.send("OPTIONS", "/v1/chat/completions",
                 {{"origin", "https://evil.example"}, {"access-control-request-method", "POST"}});
  EXPECT_EQ(bad.status, 401);
  EXPECT_EQ(bad.header("access-control-allow-origin"), "");
}

TEST(ServerTest, OtherHostsReachNothingButHealthOverLoopback) {
  Bench bench;
  const http::Headers evil = {{"host", "evil.example:8080"}, {"user-agent", "Mozilla/5.0"}};
  const http::Headers good = {{"host", "localhost:8080"}, {"user-agent", "Mozilla/5.0"}};
  int closed = 0;
  for (const Route& route : bench.server().routes().routes()) {
    const std::string path = example_path(route.pattern);
    const auto reply = bench.send(route.method, path, evil, "{}");
    if (path == "/health") {
      EXPECT_EQ(reply.status, 200);
      continue;
    }
    ++closed;
    EXPECT_EQ(reply.status, 403) << path;
    EXPECT_THAT(reply.body, HasSubstr("--allowed-hosts 'evil.example'"));
    EXPECT_TRUE(Json::parse(reply.body, "body").ok()) << reply.body;
    EXPECT_NE(bench.send(route.method, path, good, "{}").status, 403);
  }
  EXPECT_GE(closed, 14);
  EXPECT_EQ(bench.send("GET", "/no/such/route", evil).status, 403);
  const auto message = bench.send("POST", "/v1/messages", evil, "{}");
  EXPECT_THAT(message.body, HasSubstr("\"permission_error\""));
}

TEST(ServerTest, WithKeysOrByTheOptionOtherHostsAreAllowed) {
  Bench keyed({"secret"});
  const http::Headers other = {{"host", "any.example"}, {"x-api-key", "secret"}};
  EXPECT_EQ(keyed.send("GET", "/v1/models", other).status, 200);
  Bench listed(ServerOptions{.allowed_hosts = {"any.example"}});
  EXPECT_EQ(listed.send("GET", "/v1/models", {{"host", "ANY.example.:80"}}).status, 200);
  EXPECT_EQ(listed.send("GET", "/v1/models", {{"host", "other.example"}}).status, 403);
}

TEST(ServerTest, WhatTheTransportRefusesIsToldSoWhateverTheHost) {
  Bench bench;
  http::HttpRequest request;
  request.method = "POST";
  request.path = "/v1/messages";
  request.headers = {{"host", "a b"}};
  request.refusal = 400;
  request.refusal_reason = "no host";
  const auto reply = bench.send(std::move(request));
  EXPECT_EQ(reply.status, 400);
  EXPECT_THAT(reply.body, HasSubstr("no host"));
}

TEST(ServerTest, NamesThatAreNoHostsAreRefusedByTheOption) {
  const auto server = Server::create(ServerOptions{.allowed_hosts = {"http://a"}});
  ASSERT_FALSE(server.ok());
  EXPECT_THAT(server.error().message, HasSubstr("--allowed-hosts: 'http://a'"));
}

TEST(ServerTest, ALogThatIsNotReadHoldsNoRequestUp) {
  std::promise<void> reading;
  const auto is_read = reading.get_future().share();
  constexpr int kRequests = 50;  // more than the workers, which would wait for the log
  std::latch logged(kRequests);
  Bench bench(ServerOptions{.log = [&logged, is_read](std::string_view) {
    is_read.wait();
    logged.count_down();
  }});
  for (int i = 0; i < kRequests; ++i) {
    EXPECT_EQ(bench.send("GET", "/health").status, 200);
  }
  reading.set_value();
  logged.wait();
}

TEST(ServerTest, LinesThatTheLogLosesAreCounted) {
  std::promise<void> reading;
  const auto is_read = reading.get_future().share();
  std::vector<std::string> log;
  const auto sink = [&log, is_read](std::string_view line) {
    is_read.wait();
    log.emplace_back(line);
  };
  {
    const RequestLog lossy(sink, true, {.bytes = 400, .flush_time = std::chrono::hours(1)});
    for (int i = 0; i < 9; ++i) {
      lossy.request(
          {.id = concat("r", i), .method = "GET", .path = "/", .route = {}, .caller = {}});
    }
    EXPECT_GT(lossy.lost_lines(), 0U);
    reading.set_value();
    lossy.flush();
    EXPECT_EQ(log.size(), 9 - lossy.lost_lines() + 1);
    const auto told = Json::parse(log.back(), "line");
    ASSERT_TRUE(told.ok());
    EXPECT_EQ(*told->find("event")->as_string(), "log_lines_lost");
    EXPECT_EQ(*told->find("level")->as_string(), "warning");
    EXPECT_THAT(log.back(), HasSubstr(concat("\"lines\":", lossy.lost_lines(), ",")));
  }
}

TEST(ServerTest, MetricsTellOfRequests) {
  Bench bench;
  bench.send("POST", "/v1/chat/completions", {}, "{");
  const auto reply = bench.send("GET", "/metrics");
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.body,
              HasSubstr("zllm_requests_total{route=\"/v1/chat/completions\",status=\"400\"} 1\n"));
}

}  // namespace
}  // namespace zllm::server
