#pragma once

#include <string>
#include <vector>

#include <zllm/base/json.h>
#include <zllm/base/result.h>
#include <zllm/model_spec/dense_decoder.h>
#include <zllm/weight/container/gguf_metadata.h>
#include <zllm/weight/container/tensor_table.h>

// The two ways to the dense family's spec. Both check every number's range and every pair of keys
// that could contradict each other; neither looks at shapes of weights.
namespace zllm::weight {

// From config.json of model type llama, mistral, qwen2 or qwen3, with the defaults of transformers.
Result<model_spec::DenseDecoder> dense_decoder_from_config(const Json& config,
                                                           std::vector<std::string>& warnings);

// From GGUF metadata of architecture llama, qwen2 or qwen3. The tensors tell which biases there
// are, whether the head is tied, and the vocabulary of a file without tokenizer.
Result<model_spec::DenseDecoder> dense_decoder_from_metadata(const GgufMetadata& metadata,
                                                             const TensorTable& tensors);

}  // namespace zllm::weight
