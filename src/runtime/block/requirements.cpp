#include <zllm/runtime/block/requirements.h>

#include <algorithm>

namespace zllm::runtime::block {

using backend::Op;
using backend::OpKey;

void require(const model_spec::Mixture& spec, std::vector<OpKey>& keys) {
  for (const std::uint32_t columns :
       {spec.dense_intermediate, spec.expert_intermediate, spec.shared_intermediate}) {
    if (columns != 0) {
      keys.push_back({.op = Op::gated_activation, .columns = columns});
    }
  }
  if (std::ranges::find(spec.is_sparse, true) != spec.is_sparse.end()) {
    keys.push_back({.op = Op::route, .rows = spec.router.experts});
  }
}

void require(const model_spec::LatentAttention& spec, backend::KvType type,
             std::vector<OpKey>& keys) {
  keys.push_back({.op = Op::norm, .columns = spec.mla.latent});
  if (spec.query_rank != 0) {
    keys.push_back({.op = Op::norm, .columns = spec.query_rank});
  }
  keys.push_back({.op = Op::latent_attention,
                  .encoding = backend::encoding_of(type),
                  .rows = spec.mla.heads,
                  .columns = spec.mla.latent + spec.mla.rope});
}

void require(const IndexerShape& shape, backend::KvType type, std::vector<OpKey>& keys) {
  keys.push_back({.op = Op::layer_norm, .columns = shape.indexer.width});
  keys.push_back({.op = shape.pool == 0 ? Op::select_keys : Op::select_pools,
                  .encoding = backend::encoding_of(type),
                  .rows = shape.indexer.heads,
                  .columns = shape.indexer.width});
}

void require(const DeltaShape& shape, std::vector<OpKey>& keys) {
  keys.push_back(
      {.op = Op::delta_rule, .rows = shape.delta.value_heads, .columns = shape.delta.value_width});
  keys.push_back({.op = Op::gated_norm, .columns = shape.delta.value_width});
}

void require(const residual::HyperConnectionSpec& spec, std::uint32_t hidden,
             std::vector<OpKey>& keys) {
  keys.push_back({.op = Op::hyper_connection, .rows = spec.streams, .columns = hidden});
}

}  // namespace zllm::runtime::block
