#pragma once

#include <optional>
#include <string>

#include <zllm/base/json.h>
#include <zllm/base/result.h>
#include <zllm/weight/container/gguf_metadata.h>
#include <zllm/weight/container/tensor_table.h>

namespace zllm::weight {

// A model as it lies on disk: a Hub-layout folder (config.json with model.safetensors or
// model.safetensors.index.json) or a GGUF file (single, or any part of a split set).
struct ModelFiles {
  std::string path;
  TensorTable tensors;
  std::optional<GgufMetadata> gguf;       // present for GGUF; of the first part of a split set
  std::optional<Json> config;             // config.json, an object, present for a folder
  std::optional<Json> generation_config;  // generation_config.json, when the folder has it
};

// Opens and checks containers; reads no tensor bytes. Every error names the file and, where there
// is one, the tensor or field. Of a folder with both an index and model.safetensors the index
// counts; its files are the only ones looked at.
Result<ModelFiles> open_model(const std::string& path);

}  // namespace zllm::weight
