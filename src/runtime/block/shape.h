#pragma once

#include <cstdint>

#include <zllm/attention/delta_rule/spec.h>
#include <zllm/attention/sparse/spec.h>
#include <zllm/backend/capability/paged.h>
#include <zllm/model_spec/latent_attention.h>
#include <zllm/model_spec/mixture.h>
#include <zllm/residual/spec.h>
#include <zllm/rope/spec.h>
#include <zllm/runtime/load.h>

// Dimensions of the blocks, and what follows from them before anything is made: the planes of the
// caches, and columns(), the f32 values that one row of a round needs in a block's tensors.
namespace zllm::runtime::block {

struct EndsShape {
  std::uint32_t vocabulary = 0;
  std::uint32_t hidden = 0;
  double norm_epsilon = 0;
  bool tied = false;
  bool embeds = true;    // this stage holds the first layer
  bool has_head = true;  // this stage holds the last layer
};

template <class Spec>
EndsShape ends_shape(const Spec& spec, StageRange stage) {
  return {.vocabulary = spec.vocabulary,
          .hidden = spec.hidden,
          .norm_epsilon = spec.norm_epsilon,
          .tied = spec.tied_embeddings,
          .embeds = stage.first == 0,
          .has_head = stage.end == spec.layers};
}

struct GqaShape {
  std::uint32_t query_heads = 0;
  std::uint32_t kv_heads = 0;
  std::uint32_t head = 0;
  double norm_epsilon = 0;  // of the query and key norms, where there are some
};

struct DeltaShape {
  attention::delta_rule::Spec delta;
  std::uint32_t gate_rank = 0;  // of the low-rank decay and output gates
  double norm_epsilon = 0;      // of the gated output norm
};

struct IndexerShape {
  attention::sparse::IndexerSpec indexer;
  std::uint32_t pool = 0;   // positions of one pooled key; 0 = keys are not pooled
  double norm_epsilon = 0;  // of the key's LayerNorm
};

// Rows of logits made at a time: 32 rows of a 150k vocabulary are 19 MB.
constexpr std::uint32_t kLogitRows = 32;
std::uint64_t logit_bytes(std::uint32_t vocabulary);

std::uint64_t columns(const rope::Spec& rotation);
std::uint64_t columns(const GqaShape& shape);
std::uint64_t columns(const DeltaShape& shape);
std::uint64_t columns(const IndexerShape& shape);
std::uint64_t columns(const model_spec::LatentAttention& spec);
std::uint64_t columns(const model_spec::Mixture& spec);
std::uint64_t columns(const residual::HyperConnectionSpec& spec);
std::uint64_t mlp_columns(std::uint32_t intermediate);

backend::PlaneSpec plane(const GqaShape& shape);
backend::PlaneSpec plane(const IndexerShape& shape);
backend::PlaneSpec plane(const model_spec::LatentAttention& spec);

}  // namespace zllm::runtime::block
