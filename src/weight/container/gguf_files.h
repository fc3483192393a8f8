#pragma once

#include <string>

#include <zllm/base/result.h>
#include <zllm/weight/container/model_files.h>

namespace zllm::weight {

// Opens a GGUF file with all other parts of its split set.
Result<ModelFiles> open_gguf_files(const std::string& path);

}  // namespace zllm::weight
