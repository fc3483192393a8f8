#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <zllm/backend/capability/gqa.h>
#include <zllm/runtime/any_model.h>
#include <zllm/runtime/load.h>
#include <zllm/runtime/paged_states.h>
#include <zllm/weight/assembly/dense_decoder.h>

namespace zllm::runtime::dense {

// Rows of logits made at a time: 32 rows of a 150k vocabulary are 19 MB.
constexpr std::uint32_t kLogitRows = 32;

// The operations that the model asks of a backend, for supports() and the capability matrix.
std::vector<backend::OpKey> requirements(const weight::DenseDecoderModel& model,
                                         const LoadOptions& options);

// Bytes of the matrices that one decode row multiplies with.
std::uint64_t matrix_bytes_per_token(const weight::DenseDecoderModel& model);
std::uint64_t parameter_count(const weight::DenseDecoderModel& model);
// Bytes of all weights as they lie in the file, each once.
std::uint64_t weight_bytes(const weight::DenseDecoderModel& model);
// Bytes of the activations of a round.
std::uint64_t workspace_bytes(const model_spec::DenseDecoder& spec, std::uint32_t rows);

// Resident weights of one decoder layer.
template <backend::Backend B>
struct Layer {
  using Weight = typename B::Weight;
  Weight attention_norm, query, key, value, output, mlp_norm, gate, up, down;
  std::optional<Weight> query_bias = {}, key_bias = {}, value_bias = {}, output_bias = {};
  std::optional<Weight> gate_bias = {}, up_bias = {}, down_bias = {};
  std::optional<Weight> query_norm = {}, key_norm = {};
};

// Activations of a round, made once for the largest round and cut to each round's rows.
template <backend::Backend B>
struct Workspace {
  using Tensor = typename B::Tensor;
  Tensor residual, normed, query, key, value, attended, gate, up, gated, cosine, sine, scores;
};

// The dense decoder of Llama, Mistral, Qwen2, Qwen3 and their like over any backend with paged
// grouped-query attention: pre-norm attention and SwiGLU blocks on one residual stream.
template <backend::GqaBackend B>
class DenseModel final : public AnyModel {
 public:
  // Loads the weights; the files may be closed afterwards only if the backend packs everything, so
  // the caller keeps them open as long as the model lives.
  static Result<std::unique_ptr<DenseModel>> load(B& backend,
                                                  const weight::DenseDecoderModel& model,
                                                  const LoadOptions& options);

  const ModelInfo& info() const override { return info_; }
  SequenceStates& states() override { return states_; }
  Result<RoundOutput> submit(const Round& round) override;

 private:
  using Tensor = typename B::Tensor;
  using Weight = typename B::Weight;
  using Job = backend::LinearJob<Tensor, Weight>;

  struct Parts {
    model_spec::DenseDecoder spec;
    ModelInfo info;
    Weight embedding;
    std::optional<Weight> head;  // absent when tied
    Weight final_norm;
    std::vector<Layer<B>> layers;
    Workspace<B> workspace;
    typename B::PagedCache cache;
    backend::PagedCacheSpec cache_spec;
  };

  DenseModel(B& backend, Parts parts);

  Result<RoundOutput> run(const Round& round);
  Status prepare(const Round& round);
  Status attention_block(LayerId layer, std::span<const backend::PagedSegment> segments);
  Status mlp_block(const Layer<B>& layer);
  Result<RoundOutput> logits(const Round& round);

  B& backend_;
  model_spec::DenseDecoder spec_;
  ModelInfo info_;
  Weight embedding_;
  std::optional<Weight> head_;
  Weight final_norm_;
  std::vector<Layer<B>> layers_;
  Workspace<B> work_;
  PagedStates<B> states_;
};

}  // namespace zllm::runtime::dense
