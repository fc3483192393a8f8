#include <gtest/gtest.h>

#include <zllm/base/process_limits.h>

namespace zllm {
namespace {

TEST(ProcessLimits, ReadsQuotas) {
  EXPECT_DOUBLE_EQ(*internal::parse_cpu_max("150000 100000"), 1.5);
  EXPECT_FALSE(internal::parse_cpu_max("max 100000"));
  EXPECT_FALSE(internal::parse_cpu_max("100000 0"));
  EXPECT_FALSE(internal::parse_cpu_max(""));
}

TEST(ProcessLimits, AreThereAndPlausible) {
  EXPECT_GE(usable_processors(), 1u);
  const auto memory = memory_limits();
  ASSERT_TRUE(memory.has_value());
  EXPECT_GT(memory->total, 1u << 20);
  EXPECT_LE(memory->available, memory->total);
}

}  // namespace
}  // namespace zllm
