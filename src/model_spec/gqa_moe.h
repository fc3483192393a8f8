#pragma once

#include <cstdint>
#include <string>

#include <zllm/model_spec/mixture.h>
#include <zllm/rope/spec.h>

namespace zllm::model_spec {

// Grouped-query decoders with routed experts: Qwen1.5-MoE and Qwen2-MoE, Qwen3-MoE, GLM-4.5
// and 4.6. Dimensions in elements.
struct GqaMoe {
  std::string architecture;  // the file's own name
  std::uint32_t vocabulary = 0;
  std::uint32_t hidden = 0;
  std::uint32_t layers = 0;
  std::uint32_t query_heads = 0;
  std::uint32_t kv_heads = 0;  // divides query_heads
  std::uint32_t head = 0;
  std::uint32_t window = 0;  // keys that a query sees in every layer; 0 = all
  double norm_epsilon = 1e-5;
  rope::Spec rope;  // of the first lanes of every head
  bool query_key_norm = false;
  bool qkv_bias = false;
  bool output_bias = false;
  Mixture mixture;
  bool tied_embeddings = false;
  std::uint64_t max_positions = 0;

  bool operator==(const GqaMoe&) const = default;
};

}  // namespace zllm::model_spec
