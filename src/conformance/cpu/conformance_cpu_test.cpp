#include <gtest/gtest.h>

#include <zllm/conformance/cpu/subjects.h>
#include <zllm/conformance/cpu/wrong_backend_test-inl.h>
#include <zllm/conformance/subject-inl.h>
#include <zllm/conformance/suite.h>

namespace zllm::conformance::cpu {
namespace {

TEST(Conformance, CpuPassesEveryCaseInEveryInstructionSet) {
  const auto files = built_in_cases();
  ASSERT_TRUE(files.ok()) << files.error().message;
  const auto all = subjects(3);
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

TEST(Conformance, AWrongResultOfAnyOperationFails) {
  const auto files = built_in_cases();
  ASSERT_TRUE(files.ok());
  for (const CaseFile& file : *files) {
    auto cpu = backend::cpu::CpuBackend::create({.threads = 1});
    ASSERT_TRUE(cpu.ok());
    SubjectOf<WrongBackend> wrong(std::make_unique<WrongBackend>(std::move(*cpu), file.op), "");
    const Report report = run_suite(wrong, {&file, 1});
    EXPECT_FALSE(report.ok()) << backend::name(file.op);
    for (const Line& line : report.lines) {
      EXPECT_LT(line.passed, line.cases) << name(line.op) << " in " << encoding_name(line);
    }
  }
}

// A backend that says no is not run, and what it lacks is not hidden.
TEST(Conformance, WhatABackendRefusesIsNoFailure) {
  auto file = parse_case_file(
      R"({"operator":"linear","cases":[{"outputs":2,"columns":32,"rows":1,"encoding":"F32"}]})",
      "linear.json");
  ASSERT_TRUE(file.ok());
  auto& linear = std::get<LinearCase>(file->cases.front().dimensions);
  file->cases.front().encoding = encoding::Encoding::q4_k;  // whose blocks have 256 elements
  ASSERT_EQ(linear.columns, 32U);
  const auto all = subjects(1);
  const Report report = run_suite(*all->front(), {&*file, 1});
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.lines.front().refused, 1U);
  EXPECT_EQ(report.lines.front().passed, 0U);
}

}  // namespace
}  // namespace zllm::conformance::cpu
