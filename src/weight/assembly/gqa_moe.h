#pragma once

#include <optional>
#include <variant>

#include <zllm/base/result.h>
#include <zllm/model_spec/gqa_moe.h>
#include <zllm/weight/assembly/assembled_model.h>
#include <zllm/weight/assembly/block_weights.h>
#include <zllm/weight/container/model_files.h>

namespace zllm::weight {

struct GqaMoeLayer {
  encoding::WeightView attention_norm, mlp_norm;
  GqaWeights attention;
  MixtureWeights mlp;
};

using GqaMoeModel = AssembledModel<model_spec::GqaMoe, GqaMoeLayer>;

// From config.json of model type qwen2_moe, qwen3_moe or glm4_moe, or GGUF metadata of qwen3moe or
// glm4moe. Parses and range-checks the spec, maps tensor names to logical weights and checks every
// shape. Errors name the key or tensor; missing and unexpected tensors are listed.
Result<GqaMoeModel> assemble_gqa_moe(const ModelFiles& files);

}  // namespace zllm::weight
