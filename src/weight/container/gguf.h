#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/encoding/encoding.h>
#include <zllm/weight/container/gguf_metadata.h>

namespace zllm::weight {

struct GgufTensor {
  std::string_view name;
  encoding::Encoding encoding = encoding::Encoding::f32;
  std::vector<std::uint64_t> shape;  // outermost dimension first: the file's order reversed
  std::span<const std::byte> bytes;
};

// What a GGUF file holds, pointing into its bytes. Tensors in the order of their infos.
struct GgufContents {
  std::uint32_t version = 0;
  GgufMetadata metadata;
  std::vector<GgufTensor> tensors;
};

constexpr std::string_view kGgufMagic = "GGUF";
// A file of 14-byte entries would otherwise take several times its size in memory. Real files have
// under a hundred keys and a few thousand tensors.
constexpr std::uint64_t kGgufKeyLimit = std::uint64_t{1} << 20;
constexpr std::uint64_t kGgufTensorLimit = std::uint64_t{1} << 20;
constexpr std::uint64_t kGgufKeyLengthLimit = 65535;                   // the format's own
constexpr std::uint64_t kGgufDimensionLimit = 4;                       // the format's own
constexpr std::uint64_t kGgufAlignmentMinimum = 8;                     // the format's own
constexpr std::uint64_t kGgufAlignmentLimit = std::uint64_t{1} << 30;  // the largest page

// Parses and checks a whole file, versions 2 and 3 in little-endian order. Reads no tensor bytes.
// Gaps between tensors, bytes behind the last one, any order of the data and unknown keys are
// legal. Errors name the key or tensor but not the file.
Result<GgufContents> parse_gguf(std::span<const std::byte> file);

}  // namespace zllm::weight
