#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <zllm/server/endless_engine_test-inl.h>
#include <zllm/server/http/in_process_transport.h>
#include <zllm/server/server.h>

namespace zllm::server {
namespace {

TEST(OperationRoutes, ReadyIsWhoHasNoRoundThatDoesNotEnd) {
  const auto state = std::make_shared<EndlessState>();
  auto server = Server::create(
      {}, std::make_unique<ModelSet>(
              std::vector<std::string>{"m"},
              std::vector<std::shared_ptr<Engine>>{std::make_shared<EndlessEngine>(state)}));
  ASSERT_TRUE(server.ok());
  http::InProcessTransport transport((*server)->handler());
  for (const auto& [seconds, status] :
       {std::pair(0.0, 200), std::pair(59.0, 200), std::pair(60.0, 503)}) {
    state->statistics.stalled_seconds = seconds;
    EXPECT_EQ(transport.send({.method = "GET", .path = "/ready", .peer = "a:1"})->status(), status)
        << seconds;
  }
}

}  // namespace
}  // namespace zllm::server
