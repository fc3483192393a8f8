#pragma once

#include <vector>

#include <zllm/backend/capability/op_key.h>
#include <zllm/encoding/encoding.h>
#include <zllm/runtime/load.h>

namespace zllm::runtime::kimi_linear {

// What the family asks of a backend for weights in one encoding, whatever its files.
std::vector<backend::OpKey> sample_requirements(encoding::Encoding encoding,
                                                const LoadOptions& options);

}  // namespace zllm::runtime::kimi_linear
