#pragma once

#include <cstdint>
#include <string>

#include <zllm/base/result.h>
#include <zllm/registry/model_registry.h>

namespace zllm::commands {

// Pages hold at most this many rows on every backend; used to size a cache for many sequences.
constexpr std::uint64_t kRowsOfAPageAtMost = 256;

// The options that every command which loads a model takes.
struct ModelOptions {
  std::string model;  // Hub-layout folder or GGUF file
  std::string backend = "cpu";
  unsigned threads = 0;
  std::uint64_t context = 0;
  std::string kv_type;          // "f16", "f32", or empty for the command's default
  std::uint32_t sequences = 1;  // that the command keeps at once
  bool deterministic = true;    // the CPU backend always is; others offer it as a mode
};

// The type of the cache where the options leave it open.
enum class KvDefault : std::uint8_t {
  f16,
  by_weights,  // f32 where no weight is quantised, f16 otherwise
};

// rows: what all sequences of the command may hold together, 0 = the context.
Result<registry::Model> load(const ModelOptions& options, std::uint64_t rows = 0,
                             KvDefault kv_default = KvDefault::f16);

}  // namespace zllm::commands
