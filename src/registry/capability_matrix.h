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

// An operation that a family needs, on one backend.
struct OperationSupport {
  std::string_view operation;
  // Encodings of weights (of the cache for attention) that the backend takes; empty for operations
  // without one.
  std::vector<encoding::Encoding> encodings;
  bool is_supported = false;
};

struct FamilyOnBackend {
  std::string_view family;
  std::vector<std::string_view> architectures;
  std::string_view backend;
  std::string instruction_set;
  std::vector<OperationSupport> operations;
};

Result<std::vector<FamilyOnBackend>> capability_matrix();

struct CpuNeeds {
  runtime::MemoryNeed memory;
  std::vector<std::string> warnings;  // what is odd about the files, a sentence each
};

// What a model needs on the CPU, known from its header. Unknown architectures are refused.
Result<CpuNeeds> needs_on_cpu(const weight::ModelFiles& files, const runtime::LoadOptions& options);

}  // namespace zllm::registry
