#include <zllm/runtime/block/shape.h>

#include <algorithm>

namespace zllm::runtime::block {

std::uint64_t logit_bytes(std::uint32_t vocabulary) {
  return std::uint64_t{kLogitRows} * vocabulary * sizeof(float);
}

std::uint64_t columns(const rope::Spec& rotation) { return std::max(2u, rotation.rotated); }

std::uint64_t columns(const GqaShape& shape) {
  return 2 * (std::uint64_t{shape.query_heads} + shape.kv_heads) * shape.head;
}

std::uint64_t columns(const DeltaShape& shape) {
  return channels(shape.delta) + decays(shape.delta) + shape.delta.value_heads +
         2 * std::uint64_t{shape.gate_rank} +
         2 * std::uint64_t{shape.delta.value_heads} * shape.delta.value_width;
}

std::uint64_t columns(const IndexerShape& shape) {
  // The selection counts as one more value a position.
  return std::uint64_t{shape.indexer.heads} * (shape.indexer.width + 1) +
         2 * std::uint64_t{shape.indexer.width} + shape.indexer.top_k + shape.pool;
}

std::uint64_t columns(const model_spec::LatentAttention& spec) {
  const attention::mla::Spec& mla = spec.mla;
  return std::uint64_t{spec.query_rank} + mla.latent + mla.rope +
         std::uint64_t{mla.heads} * (mla.nope + mla.rope + mla.value);
}

std::uint64_t columns(const model_spec::Mixture& spec) {
  // An expert's rows come once for each choice: gate, up and what is summed up.
  const std::uint64_t chosen =
      std::uint64_t{spec.router.top_k} * 3 * std::uint64_t{spec.expert_intermediate};
  return mlp_columns(spec.dense_intermediate) + mlp_columns(spec.shared_intermediate) +
         spec.router.experts + chosen;
}

std::uint64_t columns(const residual::HyperConnectionSpec& spec) {
  return std::uint64_t{spec.streams} * (1 + spec.streams);
}

std::uint64_t mlp_columns(std::uint32_t intermediate) { return 2 * std::uint64_t{intermediate}; }

backend::PlaneSpec plane(const GqaShape& shape) {
  return {.kind = backend::PlaneKind::keys_values, .heads = shape.kv_heads, .width = shape.head};
}

backend::PlaneSpec plane(const IndexerShape& shape) {
  return {.kind = backend::PlaneKind::index_keys,
          .width = shape.indexer.width,
          .pool = std::max(1u, shape.pool)};
}

backend::PlaneSpec plane(const model_spec::LatentAttention& spec) {
  return {.kind = backend::PlaneKind::latents, .width = spec.mla.latent + spec.mla.rope};
}

}  // namespace zllm::runtime::block
