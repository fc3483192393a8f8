#pragma once

#include <optional>
#include <variant>

#include <zllm/base/result.h>
#include <zllm/model_spec/glm5_next.h>
#include <zllm/weight/assembly/assembled_model.h>
#include <zllm/weight/assembly/block_weights.h>
#include <zllm/weight/container/model_files.h>

namespace zllm::weight {

struct Glm5NextLayer {
  encoding::WeightView attention_norm, mlp_norm;
  StreamWeights attention_streams, mlp_streams;
  std::variant<DeltaAttentionWeights, LatentAttentionWeights> attention;  // by is_linear
  std::optional<IndexerWeights> indexer;  // exactly where the spec says that the layer owns one
  MixtureWeights mlp;
};

using Glm5NextModel = AssembledModel<model_spec::Glm5Next, Glm5NextLayer>;

// From config.json of model type glm5_next or glm5_next_text.
// Parses and range-checks the spec, maps tensor names to logical weights and checks every shape.
// Errors name the key or tensor; missing and unexpected tensors are listed.
Result<Glm5NextModel> assemble_glm5_next(const ModelFiles& files);

}  // namespace zllm::weight
