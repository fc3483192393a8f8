#pragma once

#include <zllm/base/result.h>
#include <zllm/model_spec/dense_decoder.h>
#include <zllm/weight/assembly/assembled_model.h>
#include <zllm/weight/assembly/block_weights.h>
#include <zllm/weight/container/model_files.h>

namespace zllm::weight {

// Logical weights of one layer. Biases and head norms are there exactly when the spec says so.
struct DenseDecoderLayer {
  encoding::WeightView attention_norm, mlp_norm;
  GqaWeights attention;
  MlpWeights mlp;
};

using DenseDecoderModel = AssembledModel<model_spec::DenseDecoder, DenseDecoderLayer>;

// Parses and range-checks the spec, maps tensor names to logical weights and checks every shape.
// Errors name the key or tensor; missing and unexpected tensors are listed.
Result<DenseDecoderModel> assemble_dense_decoder(const ModelFiles& files);

}  // namespace zllm::weight
