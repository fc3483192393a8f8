#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/encoding/encoding.h>
#include <zllm/runtime/load.h>
#include <zllm/runtime/memory_fit.h>
#include <zllm/weight/container/model_files.h>

// What this build runs, found by asking families for what they require and backends for what they
// support; nothing here is a list kept by hand.
namespace zllm::registry {

// An operation in one encoding: of its weights, of its cache, or F32 for operations without one.
struct EncodingSupport {
  encoding::Encoding encoding = encoding::Encoding::f32;
  bool is_supported = true;
  std::uint32_t tested_cases = 0;  // of the conformance suite that the record says passed
};

// An operation that a family needs, on one backend.
struct OperationSupport {
  std::string_view operation;
  std::vector<EncodingSupport> entries = {};
};

struct FamilyOnBackend {
  std::string_view family;
  std::vector<std::string_view> architectures;
  std::string_view backend;
  std::string instruction_set;
  std::string tested_on;  // when the suite ran on it, YYYY-MM-DD; empty = there is no record
  std::vector<OperationSupport> operations;
};

Result<std::vector<FamilyOnBackend>> capability_matrix();

// An architecture whose logits test/model compares with an independent implementation.
struct TestedModel {
  std::string architecture;
  std::vector<encoding::Encoding> encodings;  // of its fixtures' matrices
};
// Of test/model/record/, which the tests hold to the fixtures.
Result<std::vector<TestedModel>> tested_models();

struct CpuNeeds {
  runtime::MemoryNeed memory;
  std::vector<std::string> warnings;  // what is odd about the files, a sentence each
};

// What a model needs on the CPU, known from its header. Unknown architectures are refused.
Result<CpuNeeds> needs_on_cpu(const weight::ModelFiles& files, const runtime::LoadOptions& options);

}  // namespace zllm::registry
