#pragma once

#include <optional>

#include <zllm/base/result.h>
#include <zllm/model_spec/mixture.h>
#include <zllm/weight/assembly/gguf_family.h>
#include <zllm/weight/assembly/metadata_reader.h>
#include <zllm/weight/container/tensor_table.h>

namespace zllm::weight {

// Reads the feed-forward blocks from <arch>.expert_*, feed_forward_length and
// leading_dense_block_count. The tensors tell whether experts are chosen with a bias. A file that
// does not state its scoring has `scoring`, or without one sigmoid beside a bias and else softmax;
// one that does not state whether weights are normalised has `normalise`.
// Impossible routing is an error that names the key.
Result<model_spec::Mixture> mixture_from_metadata(const MetadataReader& metadata,
                                                  const TensorTable& tensors, GgufBlocks blocks,
                                                  std::optional<moe::Scoring> scoring,
                                                  bool normalise = false);

}  // namespace zllm::weight
