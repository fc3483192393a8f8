#pragma once

#include <cstdint>

#include <zllm/base/result.h>
#include <zllm/encoding/encoding.h>

namespace zllm::weight {

// The encoding of a tensor type id of GGUF. Code::unsupported for types of the format that no
// weight can be used in here, Code::invalid_file for ids that were removed or never given.
Result<encoding::Encoding> gguf_tensor_encoding(std::uint32_t id);

}  // namespace zllm::weight
