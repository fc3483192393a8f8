#pragma once

#include <string>
#include <string_view>

#include <zllm/base/result.h>

namespace zllm::cli {

// owner/name, of the characters that the Hub allows.
bool is_hub_name(std::string_view name);
// The folder of a model of the Hub in the folder of models.
std::string hub_model_path(const std::string& models_folder, std::string_view name);

// Fetches config, tokenizer and safetensors files of a model of the Hub whose address is in the
// environment variable HF_ENDPOINT. Files go on from where an earlier try stopped. Sizes are
// checked for all files, SHA-256 for those that the Hub lists it for (the weights). The folder
// appears under its name only when all is there.
Result<std::string> pull_hub_model(const std::string& models_folder, const std::string& name);

}  // namespace zllm::cli
