#pragma once

#include <zllm/base/result.h>
#include <zllm/rope/spec.h>
#include <zllm/weight/assembly/metadata_reader.h>
#include <zllm/weight/assembly/rope_config.h>
#include <zllm/weight/container/tensor_table.h>

namespace zllm::weight {

// Endings of the tensors that rope_from_metadata reads.
constexpr std::string_view kRopeFrequenciesTensor = "rope_freqs.weight";
constexpr std::string_view kRopeLongFactorsTensor = "rope_factors_long.weight";
constexpr std::string_view kRopeShortFactorsTensor = "rope_factors_short.weight";

// Reads <arch>.rope.* of GGUF metadata and the tensors of frequency factors. GGUF folds llama3
// scaling into rope_freqs.weight; its yarn multiplies the computed amplitude by attn_factor, its
// longrope takes attn_factor, 1 by default, for the amplitude. Only where the family scales scores
// may yarn_log_multiplier be stated: yarn's mscale and mscale_all_dim, which its models have equal,
// are then ten times that, as the converter stores a tenth.
Result<rope::Spec> rope_from_metadata(const MetadataReader& metadata, const TensorTable& tensors,
                                      RopeContext context, rope::Pairing pairing);

// score_factor of the file's scaling and yarn_log_multiplier; 1 where there is none.
Result<double> score_factor_from_metadata(const MetadataReader& metadata);

}  // namespace zllm::weight
