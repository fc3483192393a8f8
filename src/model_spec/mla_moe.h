#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <zllm/attention/sparse/spec.h>
#include <zllm/model_spec/latent_attention.h>
#include <zllm/model_spec/mixture.h>
#include <zllm/rope/spec.h>

namespace zllm::model_spec {

// Where a layer's selection of positions comes from.
enum class IndexerKind {
  none,    // it attends to everything
  full,    // its own indexer
  shared,  // the nearest earlier layer with an indexer (IndexShare)
};

// Latent-attention decoders with routed experts: DeepSeek-V3 (also Kimi K2), DeepSeek-V3.2, GLM-5
// to 5.2. Dimensions in elements.
struct MlaMoe {
  std::string architecture;  // the file's own name
  std::uint32_t vocabulary = 0;
  std::uint32_t hidden = 0;
  std::uint32_t layers = 0;
  double norm_epsilon = 1e-6;
  LatentAttention attention;
  rope::Spec rope;                    // of the rope lanes of queries and of the shared key
  std::vector<IndexerKind> indexers;  // per layer; all none: dense attention
  attention::sparse::IndexerSpec indexer;
  // Of the first rope.rotated lanes of index queries and keys, with the same angles.
  rope::Pairing indexer_pairing = rope::Pairing::half;
  double indexer_norm_epsilon = 1e-6;
  Mixture mixture;
  bool tied_embeddings = false;
  std::uint64_t max_positions = 0;

  bool operator==(const MlaMoe&) const = default;
};

}  // namespace zllm::model_spec
