#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <zllm/base/result.h>

namespace zllm::commands {

// A tensor to write; the data is not owned.
struct OutputTensor {
  std::string name;
  std::string dtype;  // as safetensors spells it: "F32", "I32"
  std::vector<std::uint64_t> shape;
  std::span<const std::byte> bytes;
};

// Writes a safetensors file; an existing file is replaced only when all is written.
Status write_safetensors(const std::string& path, const std::vector<OutputTensor>& tensors);

}  // namespace zllm::commands
