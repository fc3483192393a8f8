#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/encoding/encoding.h>

namespace zllm::weight {

struct SafetensorsTensor {
  std::string name;
  encoding::Encoding encoding = encoding::Encoding::f32;
  std::vector<std::uint64_t> shape;  // outermost dimension first; empty for a scalar
  std::span<const std::byte> bytes;  // may lie at any address, see TensorEntry
};

// What a safetensors file holds; bytes point into it. Tensors in the order of the header.
struct SafetensorsContents {
  std::vector<std::pair<std::string, std::string>> metadata;  // of "__metadata__"
  std::vector<SafetensorsTensor> tensors;
};

constexpr std::uint64_t kSafetensorsHeaderLimit = 100'000'000;  // the format's own
constexpr std::size_t kSafetensorsRankLimit = 64;               // of the frameworks that write it

// Parses and checks a whole file. Reads no tensor bytes. As the format demands, the tensors cover
// all bytes behind the header without overlap or hole; a dimension of 0 is legal. Errors name the
// tensor and field but not the file.
Result<SafetensorsContents> parse_safetensors(std::span<const std::byte> file);

}  // namespace zllm::weight
