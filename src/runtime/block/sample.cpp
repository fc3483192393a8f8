#include <zllm/runtime/block/sample.h>

namespace zllm::runtime::block {
namespace {

using encoding::Encoding;
using encoding::WeightView;

// Low ranks and the width of an expert.
constexpr std::uint32_t kNarrow = 512;

WeightView matrix(Encoding encoding, std::uint64_t rows, std::uint64_t columns) {
  return {.encoding = encoding, .rows = rows, .columns = columns, .bytes = {}, .name = {}};
}

}  // namespace

model_spec::Mixture sample_mixture() {
  return {.is_sparse = {false, true},
          .dense_intermediate = kSampleIntermediate,
          .activation = {},
          .router = {.experts = 8, .top_k = 2},
          .expert_intermediate = kNarrow,
          .shared_intermediate = kNarrow};
}

model_spec::LatentAttention sample_latent_attention() {
  return {.mla = {.heads = 8, .latent = kNarrow, .nope = 128, .rope = 64, .value = 128},
          .query_rank = kNarrow};
}

attention::sparse::IndexerSpec sample_indexer() {
  return {.heads = 8, .width = 128, .top_k = kSampleIntermediate};
}

attention::delta_rule::Spec sample_delta() {
  return {.key_heads = 8, .value_heads = 8, .key_width = 128, .value_width = 128, .taps = 4};
}

weight::EndWeights sample_ends(Encoding encoding) {
  weight::EndWeights ends;
  ends.embedding = ends.head = matrix(encoding, kSampleVocabulary, kSampleHidden);
  return ends;
}

weight::GqaWeights sample_weights(const GqaShape& shape, Encoding encoding) {
  const std::uint64_t queries = std::uint64_t{shape.query_heads} * shape.head;
  const std::uint64_t keys = std::uint64_t{shape.kv_heads} * shape.head;
  weight::GqaWeights weights;
  weights.query = matrix(encoding, queries, kSampleHidden);
  weights.key = weights.value = matrix(encoding, keys, kSampleHidden);
  weights.output = matrix(encoding, kSampleHidden, queries);
  return weights;
}

weight::MlpWeights sample_mlp(std::uint32_t intermediate, Encoding encoding) {
  const WeightView in = matrix(encoding, intermediate, kSampleHidden);
  return {.gate = in, .up = in, .down = matrix(encoding, kSampleHidden, intermediate)};
}

weight::MixtureWeights sample_weights(const model_spec::Mixture& spec, std::uint32_t layer,
                                      Encoding encoding) {
  if (!spec.is_sparse[layer]) {
    return sample_mlp(spec.dense_intermediate, encoding);
  }
  const weight::MlpWeights expert = sample_mlp(spec.expert_intermediate, encoding);
  weight::ExpertWeights weights;
  weights.router = matrix(encoding, spec.router.experts, kSampleHidden);
  weights.gate.assign(spec.router.experts, expert.gate);
  weights.up.assign(spec.router.experts, expert.up);
  weights.down.assign(spec.router.experts, expert.down);
  weights.shared = sample_mlp(spec.shared_intermediate, encoding);
  return weights;
}

weight::LatentAttentionWeights sample_weights(const model_spec::LatentAttention& spec,
                                              Encoding encoding) {
  const attention::mla::Spec& mla = spec.mla;
  const std::uint64_t heads = mla.heads;
  weight::LatentAttentionWeights weights;
  weights.query_down = matrix(encoding, spec.query_rank, kSampleHidden);
  weights.query = matrix(encoding, heads * (mla.nope + mla.rope), spec.query_rank);
  weights.latent = matrix(encoding, mla.latent, kSampleHidden);
  if (mla.rope != 0) {
    weights.shared_key = matrix(encoding, mla.rope, kSampleHidden);
  }
  weights.up_fused = matrix(encoding, heads * (mla.nope + mla.value), mla.latent);
  weights.output = matrix(encoding, kSampleHidden, heads * mla.value);
  return weights;
}

weight::IndexerWeights sample_weights(const attention::sparse::IndexerSpec& spec,
                                      std::uint32_t query_rank, bool is_pooled, Encoding encoding) {
  weight::IndexerWeights weights;
  weights.query = matrix(encoding, std::uint64_t{spec.heads} * spec.width, query_rank);
  weights.key = matrix(encoding, spec.width, kSampleHidden);
  weights.weights = matrix(encoding, spec.heads, kSampleHidden);
  if (is_pooled) {
    weights.gates = weights.key;
  }
  return weights;
}

weight::DeltaAttentionWeights sample_weights(const attention::delta_rule::Spec& spec,
                                             Encoding encoding) {
  const std::uint64_t keys = std::uint64_t{spec.key_heads} * spec.key_width;
  const std::uint64_t values = std::uint64_t{spec.value_heads} * spec.value_width;
  weight::DeltaAttentionWeights weights;
  weights.query = weights.key = matrix(encoding, keys, kSampleHidden);
  weights.value = matrix(encoding, values, kSampleHidden);
  weights.decay_down = weights.gate_down = matrix(encoding, kSampleGateRank, kSampleHidden);
  weights.decay_up = matrix(encoding, attention::delta_rule::decays(spec), kSampleGateRank);
  weights.gate_up = matrix(encoding, values, kSampleGateRank);
  weights.beta = matrix(encoding, spec.value_heads, kSampleHidden);
  weights.output = matrix(encoding, kSampleHidden, values);
  return weights;
}

weight::StreamWeights sample_weights(const residual::HyperConnectionSpec& spec, Encoding encoding) {
  weight::StreamWeights weights;
  weights.mixing =
      matrix(encoding, residual::mix_width(spec), std::uint64_t{spec.streams} * kSampleHidden);
  return weights;
}

}  // namespace zllm::runtime::block
