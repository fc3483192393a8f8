#include <zllm/server/metrics.h>

#include <array>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zllm::server {
namespace {

using testing::HasSubstr;

TEST(HistogramTest, CountsAreCumulativeAndBoundsInclusive) {
  constexpr std::array<double, 2> kBounds = {1, 2};
  Histogram histogram(kBounds);
  for (const double value : {0.5, 1.0, 1.5, 7.0}) {
    histogram.observe(value);
  }
  std::string text;
  histogram.append(text, "h", "");
  EXPECT_EQ(text,
            "h_bucket{le=\"1\"} 2\nh_bucket{le=\"2\"} 3\nh_bucket{le=\"+Inf\"} 4\n"
            "h_sum 10\nh_count 4\n");
}

TEST(MetricsTest, CountsByRouteStatusAndKind) {
  Metrics metrics;
  RequestRecord record{.id = "r", .method = "POST", .path = "/x?\"", .route = "/x", .caller = "c"};
  record.status = 200;
  record.usage = Usage{.prompt_tokens = 7, .cached_tokens = 3, .completion_tokens = 2};
  metrics.count(record);
  metrics.count(record);
  record.status = 429;
  record.failure = "busy";
  record.usage.reset();
  metrics.count(record);
  const std::string text = metrics.text({{"m\"1", engine::Statistics{.rounds = 5}}}, 4);
  EXPECT_THAT(text, HasSubstr("zllm_requests_total{route=\"/x\",status=\"200\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("zllm_requests_total{route=\"/x\",status=\"429\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("zllm_request_failures_total{kind=\"busy\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("zllm_log_lines_lost_total 4\n"));
  EXPECT_THAT(text, HasSubstr("zllm_prompt_tokens_total 14\n"));
  EXPECT_THAT(text, HasSubstr("zllm_cached_tokens_total 6\n"));
  EXPECT_THAT(text, HasSubstr("zllm_rounds_total{model=\"m\\\"1\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE zllm_time_to_first_token_seconds histogram\n"));
}

}  // namespace
}  // namespace zllm::server
