#include <gtest/gtest.h>

#include <zllm/conformance/record.h>

namespace zllm::conformance {
namespace {

TEST(Record, IsOfThePresentCases) {
  const auto files = built_in_cases();
  const auto runs = built_in_record();
  ASSERT_TRUE(files.ok() && runs.ok()) << (files.ok() ? runs.error() : files.error()).message;
  ASSERT_FALSE(runs->empty());
  for (const RecordedRun& run : *runs) {
    const Status status = check(run, *files);
    EXPECT_TRUE(status.ok()) << status.error().message
                             << ": run zllm-device conformance --record and commit its file";
  }
}

Report report_of(const CaseFile& file) {
  Report report{.backend = "cpu", .instruction_set = "scalar", .lines = {}, .failures = {}};
  report.lines.push_back({.op = file.op,
                          .cases = static_cast<std::uint32_t>(file.cases.size()),
                          .passed = static_cast<std::uint32_t>(file.cases.size()),
                          .worst = {.nmse = 1e-12, .maximum = 0.5},
                          .bound = {}});
  return report;
}

TEST(Record, TellsOtherCasesAndFailures) {
  auto file =
      parse_case_file(R"({"operator":"norm","cases":[{"columns":1,"rows":1}]})", "norm.json");
  ASSERT_TRUE(file.ok());
  Report report = report_of(*file);
  const auto record = [&] {
    return parse_record(record_text({&report, 1}, {&*file, 1}, "2026-01-02"), "record.json");
  };
  const auto runs = record();
  ASSERT_TRUE(runs.ok()) << runs.error().message;
  EXPECT_EQ(runs->front().date, "2026-01-02");
  EXPECT_EQ(runs->front().lines.front().worst.maximum, 0.5);
  EXPECT_TRUE(check(runs->front(), {&*file, 1}).ok());

  const auto other =
      parse_case_file(R"({"operator":"norm","cases":[{"columns":2,"rows":1}]})", "norm.json");
  EXPECT_FALSE(check(runs->front(), {&*other, 1}).ok());
  report.lines.front().passed = 0;
  EXPECT_FALSE(check(record()->front(), {&*file, 1}).ok());
  EXPECT_FALSE(parse_record("{\"runs\": []}", "record.json").ok());
  EXPECT_FALSE(parse_record("{\"runs\": [{}]}", "record.json").ok());
}

}  // namespace
}  // namespace zllm::conformance
