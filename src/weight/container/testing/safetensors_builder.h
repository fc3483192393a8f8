#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "byte_writer.h"

namespace zllm::weight::testing {

// A safetensors file of a header text and data.
inline std::string safetensors_file(std::string_view header, std::string_view data) {
  return raw<std::uint64_t>(header.size()).append(header).append(data);
}

// A small file: a matrix, a scalar, an empty tensor and metadata.
inline std::string sample_safetensors() {
  return safetensors_file(R"({"__metadata__":{"format":"pt"},)"
                          R"("matrix":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},)"
                          R"("scalar":{"dtype":"F32","shape":[],"data_offsets":[13,17]},)"
                          R"("empty":{"dtype":"I64","shape":[0,4],"data_offsets":[13,13]},)"
                          R"("flag":{"dtype":"BOOL","shape":[1],"data_offsets":[12,13]}}   )",
                          "mmmmmmmmmmmmfssss");
}

}  // namespace zllm::weight::testing
