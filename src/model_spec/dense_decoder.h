#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <zllm/base/strong.h>
#include <zllm/rope/spec.h>

namespace zllm::model_spec {

// The dense decoder family: Llama, SmolLM2, Mistral, Qwen2, Qwen3 and models of their shape.
// Dimensions in elements.
struct DenseDecoder {
  std::string architecture;  // the file's own name: "llama", "qwen3" ...
  std::uint32_t vocabulary = 0;
  std::uint32_t hidden = 0;
  std::uint32_t intermediate = 0;
  std::uint32_t layers = 0;
  std::uint32_t query_heads = 0;
  std::uint32_t kv_heads = 0;  // divides query_heads
  std::uint32_t head = 0;      // width of one head of queries, keys and values
  double norm_epsilon = 1e-5;
  rope::Spec rope;
  // Per layer: keys that a query sees, itself included; 0 = all.
  std::vector<std::uint32_t> windows;
  bool query_key_norm = false;  // RMS norm of each query and key head before rope
  bool qkv_bias = false;
  bool output_bias = false;
  bool mlp_bias = false;
  bool tied_embeddings = false;
  std::uint64_t max_positions = 0;  // the context length that the model was made for

  bool operator==(const DenseDecoder&) const = default;
};

}  // namespace zllm::model_spec
