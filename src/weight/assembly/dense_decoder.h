#pragma once

#include <optional>
#include <string>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/base/strong.h>
#include <zllm/encoding/encoding.h>
#include <zllm/model_spec/dense_decoder.h>
#include <zllm/weight/container/model_files.h>

namespace zllm::weight {

// Logical weights of one layer. Biases and head norms are there exactly when the spec says so.
struct DenseDecoderLayer {
  encoding::WeightView attention_norm;  // vectors are one row of F32, F16 or BF16
  encoding::WeightView query, key, value, output;
  std::optional<encoding::WeightView> query_bias, key_bias, value_bias, output_bias;
  std::optional<encoding::WeightView> query_norm, key_norm;
  encoding::WeightView mlp_norm;
  encoding::WeightView gate, up, down;
  std::optional<encoding::WeightView> gate_bias, up_bias, down_bias;
};

struct DenseDecoderWeights {
  encoding::WeightView embedding;
  std::vector<DenseDecoderLayer> layers;
  encoding::WeightView final_norm;
  encoding::WeightView head;  // equal to embedding when tied
};

struct DenseDecoderModel {
  std::string path;  // for messages
  model_spec::DenseDecoder spec;
  DenseDecoderWeights weights;  // views into the ModelFiles it was assembled from
  std::vector<TokenId> end_tokens;
  std::optional<TokenId> begin_token;
  std::vector<std::string> warnings;
};

// Parses and range-checks the spec, maps tensor names to logical weights and checks every shape.
// Errors name the key or tensor; missing and unexpected tensors are listed.
Result<DenseDecoderModel> assemble_dense_decoder(const ModelFiles& files);

}  // namespace zllm::weight
