#include <gtest/gtest.h>

#include <zllm/conformance/cpu/subjects.h>
#include <zllm/conformance/suite.h>

namespace zllm::conformance::cpu {
namespace {

TEST(Conformance, CpuPassesEveryCaseInEveryInstructionSet) {
  const auto files = built_in_cases();
  ASSERT_TRUE(files.ok()) << files.error().message;
  for (const unsigned threads : {1U, 3U}) {
    const auto all = subjects(threads);
    ASSERT_TRUE(all.ok()) << all.error().message;
    ASSERT_FALSE(all->empty());
    for (const auto& subject : *all) {
      const Report report = run_suite(*subject, *files);
      for (const std::string& failure : report.failures) {
        ADD_FAILURE() << failure;
      }
      for (const Line& line : report.lines) {
        EXPECT_EQ(line.refused, 0U) << name(line.op) << " in " << encoding_name(line);
      }
    }
  }
}

}  // namespace
}  // namespace zllm::conformance::cpu
