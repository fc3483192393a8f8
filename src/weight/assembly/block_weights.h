#pragma once

#include <optional>
#include <variant>
#include <vector>

#include <zllm/encoding/encoding.h>

// Logical weights of the blocks that several model families share: views into the files. Vectors
// are one row of F32, F16 or BF16. What is optional is there exactly when the spec says so.
namespace zllm::weight {

struct MlpWeights {
  encoding::WeightView gate, up, down;
  std::optional<encoding::WeightView> gate_bias = {}, up_bias = {}, down_bias = {};
};

// Experts in the order of their numbers, each a matrix of its own or a slice of a stacked tensor.
struct ExpertWeights {
  encoding::WeightView router;                         // [experts, hidden]
  std::optional<encoding::WeightView> selection_bias;  // [experts]
  std::vector<encoding::WeightView> gate, up;          // [intermediate, hidden]
  std::vector<encoding::WeightView> down;              // [hidden, intermediate]
  std::optional<MlpWeights> shared;
  std::optional<encoding::WeightView> shared_gate;  // [1, hidden]
};

using MixtureWeights = std::variant<MlpWeights, ExpertWeights>;

struct GqaWeights {
  encoding::WeightView query, key, value, output;
  std::optional<encoding::WeightView> query_bias, key_bias, value_bias, output_bias;
  std::optional<encoding::WeightView> query_norm, key_norm;
};

struct LatentAttentionWeights {
  std::optional<encoding::WeightView> query_down, query_down_bias, query_norm;  // low rank alone
  encoding::WeightView query;   // [heads * (nope + rope), query rank or hidden]
  encoding::WeightView latent;  // [latent, hidden]
  std::optional<encoding::WeightView> latent_bias;
  encoding::WeightView latent_norm;
  std::optional<encoding::WeightView> shared_key, shared_key_bias;  // [rope, hidden]; rope above 0
  // One of two forms (backend/capability/mla.h): fused, or the other two. Unused views are empty.
  encoding::WeightView up_fused;            // [heads * (nope + value), latent]
  encoding::WeightView up_keys_transposed;  // [heads * latent, nope]
  encoding::WeightView up_values;           // [heads * value, latent]
  encoding::WeightView output;              // [hidden, heads * value]
  std::optional<encoding::WeightView> output_bias;
};

struct IndexerWeights {
  encoding::WeightView query;                         // [heads * width, query rank]
  encoding::WeightView key;                           // [width, hidden]
  encoding::WeightView key_norm, key_norm_bias;       // [width]
  encoding::WeightView weights;                       // [heads, hidden]
  std::optional<encoding::WeightView> gates;          // [width, hidden]; pooled keys alone
  std::optional<encoding::WeightView> position_bias;  // [pool * width] as one vector
};

struct DeltaAttentionWeights {
  encoding::WeightView query, key, value;                 // [channels of the part, hidden]
  encoding::WeightView query_taps, key_taps, value_taps;  // [channels * taps] as one vector each
  encoding::WeightView decay_down, decay_up;              // low rank
  encoding::WeightView rates, decay_bias;                 // [value heads], [decays]
  encoding::WeightView beta;                              // [value heads, hidden]
  encoding::WeightView gate_down, gate_up;                // low rank
  encoding::WeightView norm;                              // [value width]
  encoding::WeightView output;                            // [hidden, value heads * value width]
};

struct StreamWeights {
  encoding::WeightView mixing;  // [mix width, streams * hidden]
  encoding::WeightView base;    // [mix width]
  encoding::WeightView scale;   // [3]
};

}  // namespace zllm::weight
