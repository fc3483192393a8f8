#include <zllm/server/background_answers.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <zllm/base/text.h>
#include <zllm/server/endless_engine_test-inl.h>
#include <zllm/server/http/in_process_transport.h>
#include <zllm/server/server.h>

namespace zllm::server {
namespace {

// The first event of a stream tells the name, whatever the thread that began the answer does then.
TEST(BackgroundAnswers, AreCancelledByWhoKnowsTheirName) {
  const auto state = std::make_shared<EndlessState>();
  ServerOptions options;
  options.limits.workers = 3;
  auto server = Server::create(
      std::move(options), std::make_unique<ModelSet>(std::vector<std::string>{"m"},
                                                     std::vector<std::shared_ptr<Engine>>{
                                                         std::make_shared<EndlessEngine>(state)}));
  ASSERT_TRUE(server.ok());
  http::InProcessTransport transport((*server)->handler());
  const auto post = [&](std::string path, std::string body) {
    return transport.send(
        {.method = "POST", .path = std::move(path), .body = std::move(body), .peer = "a:1"});
  };
  const auto stream =
      post("/v1/responses", R"({"model":"m","input":"x","background":true,"stream":true})");
  const std::string first = stream->read().value_or("");
  const std::size_t begin = first.find("resp_");
  ASSERT_NE(begin, std::string::npos) << first;
  const std::string name = first.substr(begin, first.find('"', begin) - begin);
  const auto cancelled = post(concat("/v1/responses/", name, "/cancel"), "");
  EXPECT_EQ(cancelled->status(), 200) << cancelled->read_all();
  EXPECT_TRUE(state->is_cancelled);
  stream->read_all();
  EXPECT_EQ(stream->end(), http::InProcessExchange::End::finished);
}

}  // namespace
}  // namespace zllm::server
