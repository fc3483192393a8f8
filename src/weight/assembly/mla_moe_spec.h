#pragma once

#include <string>
#include <vector>

#include <zllm/base/json.h>
#include <zllm/base/result.h>
#include <zllm/model_spec/mla_moe.h>
#include <zllm/weight/container/gguf_metadata.h>
#include <zllm/weight/container/tensor_table.h>

// The two ways to the spec of latent attention with routed experts. Both check every number's range
// and every pair of keys that could contradict each other; neither looks at shapes of weights.
namespace zllm::weight {

// From config.json of model type deepseek_v3, kimi_k2, deepseek_v32 or glm_moe_dsa, with the
// defaults of transformers.
Result<model_spec::MlaMoe> mla_moe_from_config(const Json& config,
                                               std::vector<std::string>& warnings);

// From GGUF metadata of architecture deepseek2, deepseek32 or glm-dsa. The tensors tell whether the
// router has a bias, whether the head is tied, and the vocabulary of a file without tokenizer.
Result<model_spec::MlaMoe> mla_moe_from_metadata(const GgufMetadata& metadata,
                                                 const TensorTable& tensors);

}  // namespace zllm::weight
