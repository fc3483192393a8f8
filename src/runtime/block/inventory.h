#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <zllm/backend/capability/op_key.h>
#include <zllm/moe/spec.h>
#include <zllm/weight/assembly/assembled_model.h>
#include <zllm/weight/assembly/block_weights.h>

namespace zllm::runtime::block {

// The weights of a model or stage and what they are for: sizes, traffic and requirements follow
// from it before anything loads.
class Inventory {
 public:
  void add(const weight::EndWeights& ends, bool tied, bool embeds, bool has_head);
  void add(const weight::GqaWeights& weights);
  void add(const weight::LatentAttentionWeights& weights);
  void add(const weight::IndexerWeights& weights);
  void add(const weight::DeltaAttentionWeights& weights);
  void add(const weight::StreamWeights& weights);
  void add(const weight::MlpWeights& weights);
  // A row reads top_k of the experts.
  void add(const weight::MixtureWeights& weights, const moe::RouterSpec& router);
  void add_vector(const encoding::WeightView& view);

  std::uint64_t parameter_count() const { return parameters_; }
  std::uint64_t weight_bytes() const { return bytes_; }  // as they lie in the file, each once
  // Of the matrices that one decode row multiplies with.
  std::uint64_t bytes_per_token() const { return bytes_per_token_; }
  // One key for each way that weights are used, encoding and shape.
  const std::vector<backend::OpKey>& keys() const { return keys_; }

 private:
  void add_matrix(const encoding::WeightView& view, backend::Op op = backend::Op::linear);
  void add_vector(const std::optional<encoding::WeightView>& view);
  void count(const encoding::WeightView& view);
  void require(const encoding::WeightView& view, backend::Op op);

  std::uint64_t parameters_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t bytes_per_token_ = 0;
  std::vector<backend::OpKey> keys_;
};

}  // namespace zllm::runtime::block
