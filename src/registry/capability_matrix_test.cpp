#include <gtest/gtest.h>

#include <algorithm>

#include <zllm/registry/capability_matrix.h>
#include <zllm/registry/model_registry.h>

namespace zllm::registry {
namespace {

using encoding::Encoding;

const OperationSupport *find(const FamilyOnBackend& cell, std::string_view operation) {
  const auto found = std::ranges::find(cell.operations, operation, &OperationSupport::operation);
  return found == cell.operations.end() ? nullptr : &*found;
}

TEST(CapabilityMatrix, HasEveryFamilyOnEveryBackend) {
  const auto matrix = capability_matrix();
  ASSERT_TRUE(matrix.ok()) << matrix.error().message;
  ASSERT_EQ(matrix->size(), families().size() * backend_names().size());
  for (const FamilyOnBackend& cell : *matrix) {
    for (const std::string_view operation : {"embed", "linear", "norm", "gated_activation"}) {
      ASSERT_NE(find(cell, operation), nullptr) << cell.family << " " << operation;
    }
    // All weight encodings, since a sample has none but the one asked for.
    const auto& entries = find(cell, "linear")->entries;
    EXPECT_TRUE(std::ranges::any_of(entries, [](const EncodingSupport& entry) {
      return entry.encoding == Encoding::iq1_m;
    })) << cell.family;
  }
  const auto any = [&](std::string_view operation) {
    return std::ranges::any_of(*matrix,
                               [&](const auto& cell) { return find(cell, operation) != nullptr; });
  };
  for (std::size_t i = 0; i < backend::kOpCount; ++i) {
    const auto op = static_cast<backend::Op>(i);
    EXPECT_TRUE(any(backend::name(op))) << "no family asks for " << backend::name(op);
  }
}

TEST(CapabilityMatrix, WhatTheCpuSupportsTheSuiteHasRun) {
  const auto matrix = capability_matrix();
  ASSERT_TRUE(matrix.ok());
  for (const FamilyOnBackend& cell : *matrix) {
    EXPECT_FALSE(cell.tested_on.empty()) << cell.instruction_set;
    for (const OperationSupport& operation : cell.operations) {
      for (const EncodingSupport& entry : operation.entries) {
        EXPECT_TRUE(entry.is_supported) << cell.family << " " << operation.operation << " "
                                        << encoding::info(entry.encoding).name;
        EXPECT_GT(entry.tested_cases, 0U) << cell.family << " " << operation.operation << " "
                                          << encoding::info(entry.encoding).name;
      }
    }
  }
}

TEST(TestedModels, AreArchitecturesOfTheBuild) {
  const auto tested = tested_models();
  ASSERT_TRUE(tested.ok()) << tested.error().message;
  const auto known = architecture_names();
  for (const TestedModel& model : *tested) {
    EXPECT_NE(std::ranges::find(known, model.architecture), known.end()) << model.architecture;
    EXPECT_FALSE(model.encodings.empty());
  }
}

}  // namespace
}  // namespace zllm::registry
