#include <zllm/server/access.h>

#include <gtest/gtest.h>

namespace zllm::server {
namespace {

http::HttpRequest with(http::Headers headers, std::string method = "POST") {
  http::HttpRequest request;
  request.method = std::move(method);
  request.headers = std::move(headers);
  return request;
}

TEST(AccessTest, FindsTheKey) {
  EXPECT_EQ(presented_key(with({{"authorization", "Bearer abc"}})), "abc");
  EXPECT_EQ(presented_key(with({{"authorization", "bearer  abc"}})), "abc");
  EXPECT_EQ(presented_key(with({{"x-api-key", "abc"}})), "abc");
  EXPECT_EQ(presented_key(with({{"authorization", "Basic abc"}})), std::nullopt);
  EXPECT_EQ(presented_key(with({})), std::nullopt);
}

TEST(CrossOriginTest, IsOffByDefault) {
  const CrossOrigin rules({});
  const auto request = with({{"origin", "https://evil.example"}});
  EXPECT_TRUE(rules.headers(request).empty());
  EXPECT_FALSE(rules.is_preflight(with(
      {{"origin", "https://evil.example"}, {"access-control-request-method", "POST"}}, "OPTIONS")));
}

TEST(CrossOriginTest, OnlyListedOriginsAndNoCredentials) {
  const CrossOrigin rules({"https://good.example"});
  const http::Headers good = rules.headers(with({{"origin", "https://good.example"}}));
  bool is_allowed = false;
  for (const auto& [name, value] : good) {
    is_allowed =
        is_allowed || (name == "access-control-allow-origin" && value == "https://good.example");
    EXPECT_NE(name, "access-control-allow-credentials");
  }
  EXPECT_TRUE(is_allowed);
  for (const auto& [name, value] : rules.headers(with({{"origin", "https://good.example.evil"}}))) {
    EXPECT_NE(name, "access-control-allow-origin");
  }
}

}  // namespace
}  // namespace zllm::server
