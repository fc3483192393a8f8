#pragma once

#include <cstdint>

#include <zllm/attention/delta_rule/spec.h>
#include <zllm/encoding/encoding.h>
#include <zllm/model_spec/latent_attention.h>
#include <zllm/model_spec/mixture.h>
#include <zllm/runtime/block/shape.h>
#include <zllm/weight/assembly/assembled_model.h>
#include <zllm/weight/assembly/block_weights.h>

// Blocks of ordinary sizes, all matrices in one encoding and without bytes: from them a family
// makes a sample of itself, which says what it asks of a backend whatever the files. All columns
// are multiples of every encoding's block.
namespace zllm::runtime::block {

constexpr std::uint32_t kSampleHidden = 1024;
constexpr std::uint32_t kSampleVocabulary = 4096;
constexpr GqaShape kSampleGqa = {.query_heads = 8, .kv_heads = 2, .head = 128};
constexpr std::uint32_t kSampleIntermediate = 2048;
constexpr std::uint32_t kSampleGateRank = 256;  // of a delta layer's low-rank gates

// Two layers, the second of which is sparse and has a shared expert.
model_spec::Mixture sample_mixture();
model_spec::LatentAttention sample_latent_attention();
attention::sparse::IndexerSpec sample_indexer();
attention::delta_rule::Spec sample_delta();

weight::EndWeights sample_ends(encoding::Encoding encoding);
weight::GqaWeights sample_weights(const GqaShape& shape, encoding::Encoding encoding);
weight::MlpWeights sample_mlp(std::uint32_t intermediate, encoding::Encoding encoding);
weight::MixtureWeights sample_weights(const model_spec::Mixture& spec, std::uint32_t layer,
                                      encoding::Encoding encoding);
weight::LatentAttentionWeights sample_weights(const model_spec::LatentAttention& spec,
                                              encoding::Encoding encoding);
// The queries of an indexer read the query residual.
weight::IndexerWeights sample_weights(const attention::sparse::IndexerSpec& spec,
                                      std::uint32_t query_rank, bool is_pooled,
                                      encoding::Encoding encoding);
weight::DeltaAttentionWeights sample_weights(const attention::delta_rule::Spec& spec,
                                             encoding::Encoding encoding);
weight::StreamWeights sample_weights(const residual::HyperConnectionSpec& spec,
                                     encoding::Encoding encoding);

}  // namespace zllm::runtime::block
