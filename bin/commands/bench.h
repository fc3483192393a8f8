#pragma once

#include <cstdint>
#include <string>

#include <zllm/base/result.h>

#include "model_options.h"

namespace zllm::commands {

// zllm bench: prefill and decode speed on random tokens of a fixed seed.
struct BenchOptions {
  ModelOptions model;
  std::uint64_t prompt_tokens = 512;
  std::uint64_t gen_tokens = 128;
  std::uint64_t depth = 0;  // context that the measured decode starts from; 0 = right after nothing
  bool synthetic_depth = false;  // copies of a short context fill the depth
  std::uint64_t repeat = 3;
  bool json = false;
};

// The report as text or JSON, ready for stdout.
Result<std::string> run_bench(const BenchOptions& options);

}  // namespace zllm::commands
