#pragma once

#include <cstdint>

#include <zllm/attention/mla/spec.h>

namespace zllm::model_spec {

// Multi-head latent attention of a decoder's layers.
struct LatentAttention {
  attention::mla::Spec mla;
  std::uint32_t query_rank = 0;       // of the low-rank query projection; 0 = one full matrix
  double latent_norm_epsilon = 1e-6;  // of the norms of query residual and latent
  bool bias = false;                  // of the down projections and of the output

  bool operator==(const LatentAttention&) const = default;
};

}  // namespace zllm::model_spec
