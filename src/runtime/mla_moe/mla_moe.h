#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <zllm/backend/capability/dsa.h>
#include <zllm/backend/capability/moe.h>
#include <zllm/backend/capability/rotary.h>
#include <zllm/runtime/any_model.h>
#include <zllm/runtime/block/ends_block.h>
#include <zllm/runtime/block/indexer_block.h>
#include <zllm/runtime/block/inventory.h>
#include <zllm/runtime/block/latent_block.h>
#include <zllm/runtime/block/mixture_block.h>
#include <zllm/runtime/block/model_needs.h>
#include <zllm/runtime/block/rotation.h>
#include <zllm/runtime/block/state_plan.h>
#include <zllm/runtime/load.h>
#include <zllm/runtime/paged_states.h>
#include <zllm/runtime/stage_input.h>
#include <zllm/weight/assembly/mla_moe.h>

namespace zllm::runtime::mla_moe {

// What the family asks of a backend.
template <class B>
concept MlaMoeBackend =
    backend::DsaBackend<B> && backend::RotaryBackend<B> && backend::MoeBackend<B>;

block::IndexerShape indexer_shape(const model_spec::MlaMoe& spec);
// Whether the layer attends to a selection that a layer before it made.
bool shares_selection(const model_spec::MlaMoe& spec, std::uint32_t layer);
// The weights that a stage needs, and what else the model asks of a backend.
block::Inventory inventory(const weight::MlaMoeModel& model, StageRange stage);
std::vector<backend::OpKey> requirements(const weight::MlaMoeModel& model, StageRange stage,
                                         const LoadOptions& options);
// A plane of latents a layer and, behind it where it has an indexer, one of index keys.
backend::PagedCacheSpec cache_spec(const model_spec::MlaMoe& spec, StageRange stage,
                                   const LoadOptions& options);
block::StateNeed state_need(const weight::MlaMoeModel& model, StageRange stage);
// All of it, of the model in the files.
Result<block::ModelNeeds> needs(const weight::ModelFiles& files, const LoadOptions& options);

// Latent-attention decoders with routed experts, dense or sparse over selected positions
// (DeepSeek-V3, Kimi K2, DeepSeek-V3.2, GLM-5 to 5.2).
template <MlaMoeBackend B>
class MlaMoeModel final : public AnyModel {
 public:
  // The weights may be used where they lie, so the files stay open as long as the model lives.
  static Result<std::unique_ptr<MlaMoeModel>> load(B& backend, const weight::MlaMoeModel& model,
                                                   const LoadOptions& options);

  const ModelInfo& info() const override { return parts_.info; }
  SequenceStates& states() override { return states_; }
  Result<RoundOutput> submit(const Round& round) override;

 private:
  using Tensor = typename B::Tensor;
  using Weight = typename B::Weight;

  struct Layer {
    Weight attention_norm, mlp_norm;
    typename block::LatentBlock<B>::Weights attention;
    std::optional<typename block::IndexerBlock<B>::Weights> indexer;
    typename block::MixtureBlock<B>::Weights mlp;
    bool is_sparse;  // attends to a selection
    backend::PlaneId latents;
    backend::PlaneId index_keys;  // where there is an indexer
  };

  struct Sparse {
    block::IndexerBlock<B> indexer;
    typename B::Selection selection;
  };

  struct Parts {
    ModelInfo info;
    model_spec::MlaMoe spec;
    block::EndsBlock<B> ends;
    std::vector<Layer> layers;  // of the stage
    block::Rotation<B> rotation;
    block::LatentBlock<B> attention;
    std::optional<Sparse> sparse;
    block::MixtureBlock<B> mlp;
    Tensor residual, normed;
  };

  MlaMoeModel(B& backend, Parts parts, typename B::PagedCache cache,
              const backend::PagedCacheSpec& cache_spec);

  static Result<std::vector<Layer>> load_layers(block::WeightLoader<B>& loader,
                                                const weight::MlaMoeModel& model, StageRange stage);
  Result<RoundOutput> run(const Round& round);
  Status begin(const Round& round);
  Status attend(const Layer& layer, std::span<const backend::PagedSegment> segments);
  Status select(const Layer& layer, std::span<const backend::PagedSegment> segments);
  Result<RoundOutput> finish(const Round& round);

  B& backend_;
  Parts parts_;
  PagedStates<B> states_;
};

}  // namespace zllm::runtime::mla_moe
