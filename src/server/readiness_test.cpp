#include <zllm/server/readiness.h>

#include <gtest/gtest.h>

namespace zllm::server {
namespace {

using std::chrono::seconds;

TEST(ReadinessTest, IdleIsReadyAndStuckIsNot) {
  Readiness readiness;
  const Readiness::Clock::time_point start{};
  engine::Statistics idle{.rounds = 3};
  EXPECT_TRUE(readiness.can_answer("m", idle, start));
  EXPECT_TRUE(readiness.can_answer("m", idle, start + seconds(1000)));

  engine::Statistics busy{.rounds = 3, .running_sequences = 2};
  EXPECT_TRUE(readiness.can_answer("m", busy, start + seconds(1010)));
  EXPECT_FALSE(readiness.can_answer("m", busy, start + seconds(1070)));
  busy.rounds = 4;
  EXPECT_TRUE(readiness.can_answer("m", busy, start + seconds(1080)));
}

TEST(ReadinessTest, WaitingForSlowReadersIsNoFault) {
  Readiness readiness;
  const Readiness::Clock::time_point start{};
  const engine::Statistics paused{.rounds = 3, .running_sequences = 2, .paused_sequences = 2};
  EXPECT_TRUE(readiness.can_answer("m", paused, start));
  EXPECT_TRUE(readiness.can_answer("m", paused, start + seconds(1000)));
}

}  // namespace
}  // namespace zllm::server
