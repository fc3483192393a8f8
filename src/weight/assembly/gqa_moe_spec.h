#pragma once

#include <string>
#include <vector>

#include <zllm/base/json.h>
#include <zllm/base/result.h>
#include <zllm/model_spec/gqa_moe.h>
#include <zllm/weight/container/gguf_metadata.h>
#include <zllm/weight/container/tensor_table.h>

// The two ways to the spec of grouped-query decoders with experts. Both check every number's range
// and every pair of keys that could contradict each other; neither looks at shapes of weights.
namespace zllm::weight {

// From config.json of model type qwen3_moe or glm4_moe, with the defaults of transformers.
Result<model_spec::GqaMoe> gqa_moe_from_config(const Json& config,
                                               std::vector<std::string>& warnings);

// From GGUF metadata of architecture qwen3moe or glm4moe. The tensors tell which biases and head
// norms there are, whether the head is tied, and the vocabulary of a file without tokenizer.
Result<model_spec::GqaMoe> gqa_moe_from_metadata(const GgufMetadata& metadata,
                                                 const TensorTable& tensors);

}  // namespace zllm::weight
