#include <zllm/server/answering.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zllm::server {
namespace {

using testing::HasSubstr;

// What becomes of a request of that priority on a server with that bound.
Outcome<Done> completed(std::optional<std::int32_t> highest, std::int32_t asked) {
  ServerOptions options;
  options.limits.priority = highest;
  const Services services(std::move(options),
                          std::make_unique<ModelSet>(std::vector<std::string>(),
                                                     std::vector<std::shared_ptr<Engine>>()));
  Metrics metrics;
  const RequestLog log({}, false);
  const Call call({}, nullptr, metrics, log);
  Request request;
  request.priority = asked;
  auto done = complete(services, call, request);
  EXPECT_EQ(request.priority, asked);  // never another than was asked for
  return done;
}

TEST(AnsweringTest, PrioritiesHaveNoBoundWhereNoneIsSet) {
  for (const std::int32_t asked :
       {std::numeric_limits<std::int32_t>::min(), 0, std::numeric_limits<std::int32_t>::max()}) {
    EXPECT_TRUE(completed({}, asked).ok()) << asked;
  }
}

TEST(AnsweringTest, PrioritiesAboveTheBoundAreRefusedByName) {
  EXPECT_TRUE(completed(3, 3).ok());
  EXPECT_TRUE(completed(3, std::numeric_limits<std::int32_t>::min()).ok());
  EXPECT_TRUE(completed(0, 0).ok());
  const auto refused = completed(3, 4);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, FailureKind::invalid);
  EXPECT_EQ(refused.error().field, "priority");
  EXPECT_THAT(refused.error().message, HasSubstr("at most 3"));
  EXPECT_FALSE(completed(0, 1).ok());
  EXPECT_FALSE(completed(0, std::numeric_limits<std::int32_t>::max()).ok());
}

TEST(AnsweringTest, ARequestTakesNoLongerThanTheServerGrants) {
  ServerOptions options;
  options.limits.request_seconds = 100;
  const Services services(std::move(options),
                          std::make_unique<ModelSet>(std::vector<std::string>(),
                                                     std::vector<std::shared_ptr<Engine>>()));
  Metrics metrics;
  const RequestLog log({}, false);
  Call call({}, nullptr, metrics, log);
  call.caller = "key-1";
  for (const double wish : {1.0, 1000.0}) {
    Request request;
    request.time_limit_seconds = wish;
    EXPECT_TRUE(complete(services, call, request).ok());
    EXPECT_EQ(request.caller, "key-1");
    EXPECT_LE(*request.time_limit_seconds, std::min(wish, 100.0));
  }
}

}  // namespace
}  // namespace zllm::server
