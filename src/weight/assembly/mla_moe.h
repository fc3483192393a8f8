#pragma once

#include <optional>
#include <variant>

#include <zllm/base/result.h>
#include <zllm/model_spec/mla_moe.h>
#include <zllm/weight/assembly/assembled_model.h>
#include <zllm/weight/assembly/block_weights.h>
#include <zllm/weight/container/model_files.h>

namespace zllm::weight {

struct MlaMoeLayer {
  encoding::WeightView attention_norm, mlp_norm;
  LatentAttentionWeights attention;
  std::optional<IndexerWeights> indexer;  // exactly where the spec has a full one
  MixtureWeights mlp;
};

using MlaMoeModel = AssembledModel<model_spec::MlaMoe, MlaMoeLayer>;

// From config.json of model type deepseek_v3, kimi_k2, deepseek_v32 or glm_moe_dsa, or GGUF
// metadata of deepseek2, deepseek32 or glm-dsa. Parses and range-checks the spec, maps tensor names
// to logical weights and checks every shape. Errors name the key or tensor; missing and unexpected
// tensors are listed.
Result<MlaMoeModel> assemble_mla_moe(const ModelFiles& files);

}  // namespace zllm::weight
