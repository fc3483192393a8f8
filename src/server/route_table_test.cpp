#include <zllm/server/route_table.h>

#include <gtest/gtest.h>

namespace zllm::server {
namespace {

RouteTable table() {
  return RouteTable({{.method = "POST", .pattern = "/v1/responses", .handle = {}},
                     {.method = "GET", .pattern = "/v1/responses/{id}", .handle = {}},
                     {.method = "GET", .pattern = "/v1/models/{name*}", .handle = {}},
                     {.method = "DELETE", .pattern = "/v1/responses/{id}", .handle = {}},
                     {.method = "POST", .pattern = "/v1/responses/{id}/cancel", .handle = {}}});
}

TEST(RouteTableTest, TakesTheSegmentInBraces) {
  const RouteTable routes = table();
  const RouteMatch match = routes.match("POST", "/v1/responses/resp_1/cancel");
  ASSERT_NE(match.route, nullptr);
  EXPECT_EQ(match.route->pattern, "/v1/responses/{id}/cancel");
  ASSERT_EQ(match.parameters.size(), 1U);
  EXPECT_EQ(match.parameters[0], (std::pair<std::string, std::string>("id", "resp_1")));
}

TEST(RouteTableTest, AStarTakesTheRestOfThePath) {
  const RouteTable routes = table();
  for (const char *path : {"/v1/models/a/b", "/v1/models/a%2Fb", "/%76%31/models/a/b"}) {
    const RouteMatch match = routes.match("GET", path);
    ASSERT_NE(match.route, nullptr) << path;
    EXPECT_EQ(match.parameters[0], (std::pair<std::string, std::string>("name", "a/b"))) << path;
  }
  EXPECT_EQ(routes.match("GET", "/v1/models/").route, nullptr);
  EXPECT_EQ(routes.match("GET", "/v1%2Fmodels/a").route, nullptr);
}

TEST(RouteTableTest, NamesTheMethodsOfAPath) {
  const RouteTable routes = table();
  const RouteMatch match = routes.match("PUT", "/v1/responses/a");
  EXPECT_EQ(match.route, nullptr);
  EXPECT_EQ(match.allowed, (std::vector<std::string>{"GET", "HEAD", "DELETE"}));
}

TEST(RouteTableTest, HeadIsGet) {
  const RouteTable routes = table();
  EXPECT_NE(routes.match("HEAD", "/v1/responses/a").route, nullptr);
  EXPECT_EQ(routes.match("HEAD", "/v1/responses").route, nullptr);
}

TEST(RouteTableTest, NothingElseMatches) {
  const RouteTable routes = table();
  for (const char *path :
       {"", "/", "/v1/responses/", "/v1/responses/a/", "/v1/responses/a/cancel/b", "/v1/response",
        "/v1/responsesx", "//v1/responses", "/V1/responses"}) {
    const RouteMatch match = routes.match("POST", path);
    EXPECT_EQ(match.route, nullptr) << path;
  }
}

}  // namespace
}  // namespace zllm::server
