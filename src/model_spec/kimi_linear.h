#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <zllm/attention/delta_rule/spec.h>
#include <zllm/model_spec/latent_attention.h>
#include <zllm/model_spec/mixture.h>

namespace zllm::model_spec {

// Kimi Linear: layers of Kimi delta attention and of latent attention without rotation, routed
// experts. Dimensions in elements.
struct KimiLinear {
  std::string architecture;
  std::uint32_t vocabulary = 0;
  std::uint32_t hidden = 0;
  std::uint32_t layers = 0;
  double norm_epsilon = 1e-5;
  std::vector<bool> is_linear;  // per layer: delta attention, else latent attention
  attention::delta_rule::Spec delta;
  std::uint32_t gate_rank = 0;  // of the low-rank decay and output gates
  LatentAttention attention;    // its rope lanes are not rotated
  Mixture mixture;
  bool tied_embeddings = false;
  std::uint64_t max_positions = 0;

  bool operator==(const KimiLinear&) const = default;
};

}  // namespace zllm::model_spec
