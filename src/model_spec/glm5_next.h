#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <zllm/attention/delta_rule/spec.h>
#include <zllm/attention/sparse/spec.h>
#include <zllm/model_spec/latent_attention.h>
#include <zllm/model_spec/mixture.h>
#include <zllm/residual/spec.h>

namespace zllm::model_spec {

// GLM-5.3-Flash, text part: hyper-connected residual streams over layers of Kimi delta attention
// and of latent attention with pooled-key selection, routed experts. No rotation anywhere.
struct Glm5Next {
  std::string architecture;
  std::uint32_t vocabulary = 0;
  std::uint32_t hidden = 0;
  std::uint32_t layers = 0;
  double norm_epsilon = 1e-5;
  residual::HyperConnectionSpec streams;
  std::vector<bool> is_linear;  // per layer: delta attention, else sparse latent attention
  std::vector<bool>
      owns_indexer;  // per layer; a sparse layer without one reuses the last selection
  attention::delta_rule::Spec delta;
  std::uint32_t gate_rank = 0;  // of the low-rank decay and output gates
  LatentAttention attention;
  attention::sparse::KpoolSpec kpool;
  double indexer_norm_epsilon = 1e-6;
  Mixture mixture;
  bool tied_embeddings = false;
  std::uint64_t max_positions = 0;

  bool operator==(const Glm5Next&) const = default;
};

}  // namespace zllm::model_spec
