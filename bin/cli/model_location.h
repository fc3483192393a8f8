#pragma once

#include <string>

#include <zllm/base/result.h>

namespace zllm::cli {

// Where pulled models lie: $XDG_CACHE_HOME/zllm/models, or ~/.cache/zllm/models.
Result<std::string> models_folder();

// What --model names: a path that exists, the name of a model that was pulled, or, when it is
// empty, the default model. The error of a model that is not there says how to get it.
Result<std::string> locate_model(const std::string& name);

}  // namespace zllm::cli
