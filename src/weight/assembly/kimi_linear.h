#pragma once

#include <optional>
#include <variant>

#include <zllm/base/result.h>
#include <zllm/model_spec/kimi_linear.h>
#include <zllm/weight/assembly/assembled_model.h>
#include <zllm/weight/assembly/block_weights.h>
#include <zllm/weight/container/model_files.h>

namespace zllm::weight {

struct KimiLinearLayer {
  encoding::WeightView attention_norm, mlp_norm;
  std::variant<DeltaAttentionWeights, LatentAttentionWeights> attention;  // by is_linear
  MixtureWeights mlp;
};

using KimiLinearModel = AssembledModel<model_spec::KimiLinear, KimiLinearLayer>;

// From config.json of model type kimi_linear, or GGUF metadata of kimi-linear.
// Parses and range-checks the spec, maps tensor names to logical weights and checks every shape.
// Errors name the key or tensor; missing and unexpected tensors are listed.
Result<KimiLinearModel> assemble_kimi_linear(const ModelFiles& files);

}  // namespace zllm::weight
