#pragma once

#include <cstdint>
#include <vector>

#include <zllm/activation/spec.h>
#include <zllm/moe/spec.h>

namespace zllm::model_spec {

// The feed-forward blocks of a decoder: dense in some layers, routed experts in others.
struct Mixture {
  std::vector<bool> is_sparse;  // per layer
  std::uint32_t dense_intermediate = 0;
  activation::Spec activation;
  moe::RouterSpec router;
  std::uint32_t expert_intermediate = 0;
  std::uint32_t shared_intermediate = 0;  // of all shared experts together; 0 = none
  bool shared_gate = false;               // the shared expert is weighted by sigmoid(gate . x)

  bool operator==(const Mixture&) const = default;
};

}  // namespace zllm::model_spec
