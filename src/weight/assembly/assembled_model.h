#pragma once

#include <optional>
#include <string>
#include <vector>

#include <zllm/base/strong.h>
#include <zllm/encoding/encoding.h>

namespace zllm::weight {

// The matrices at both ends of a decoder.
struct EndWeights {
  encoding::WeightView embedding;
  encoding::WeightView final_norm;
  encoding::WeightView head;  // equal to embedding when tied
};

// What every family's files give besides spec and weights.
struct FileFacts {
  std::string path;  // for messages
  std::vector<TokenId> end_tokens;
  std::optional<TokenId> begin_token;
  std::vector<std::string> warnings;
};

// A spec with its logical weights, views into the ModelFiles it was assembled from. A family names
// its instance, e.g. GqaMoeModel = AssembledModel<model_spec::GqaMoe, GqaMoeLayer>.
template <class Spec, class Layer>
struct AssembledModel {
  FileFacts facts;
  Spec spec;
  EndWeights ends;
  std::vector<Layer> layers;
};

}  // namespace zllm::weight
