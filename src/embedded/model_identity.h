#pragma once

#include <string>

#include <zllm/base/result.h>
#include <zllm/weight/container/model_files.h>

namespace zllm {

// A short text that changes when the weights do: of every weight file its size, the time of its
// last change and its first and last bytes.
Result<std::string> model_identity(const weight::ModelFiles& files);

}  // namespace zllm
