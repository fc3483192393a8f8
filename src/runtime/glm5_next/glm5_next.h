#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include <zllm/backend/capability/delta_rule.h>
#include <zllm/backend/capability/dsa.h>
#include <zllm/backend/capability/hyper_connection.h>
#include <zllm/backend/capability/moe.h>
#include <zllm/runtime/any_model.h>
#include <zllm/runtime/block/delta_block.h>
#include <zllm/runtime/block/ends_block.h>
#include <zllm/runtime/block/indexer_block.h>
#include <zllm/runtime/block/inventory.h>
#include <zllm/runtime/block/latent_block.h>
#include <zllm/runtime/block/mixture_block.h>
#include <zllm/runtime/block/model_needs.h>
#include <zllm/runtime/block/state_plan.h>
#include <zllm/runtime/block/stream_block.h>
#include <zllm/runtime/load.h>
#include <zllm/runtime/recurrent_states.h>
#include <zllm/runtime/stage_input.h>
#include <zllm/weight/assembly/glm5_next.h>

namespace zllm::runtime::glm5_next {

// What the family asks of a backend.
template <class B>
concept Glm5NextBackend = backend::KpoolBackend<B> && backend::DeltaRuleBackend<B> &&
                          backend::HyperConnectionBackend<B> && backend::MoeBackend<B>;

block::DeltaShape delta_shape(const model_spec::Glm5Next& spec);
block::IndexerShape indexer_shape(const model_spec::Glm5Next& spec);
// Whether the layer, or the next sparse one behind it, attends to a selection that an earlier layer
// made.
bool shares_selection(const model_spec::Glm5Next& spec, std::uint32_t layer);
// The weights that a stage needs, and what else the model asks of a backend.
block::Inventory inventory(const weight::Glm5NextModel& model, StageRange stage);
std::vector<backend::OpKey> requirements(const weight::Glm5NextModel& model, StageRange stage,
                                         const LoadOptions& options);
// A plane of latents for every layer of latent attention, with one of pooled index keys and a
// slot's plane of the open pool behind it where it has an indexer; a slot's plane for every linear
// layer.
backend::PagedCacheSpec cache_spec(const model_spec::Glm5Next& spec, StageRange stage,
                                   const LoadOptions& options);
backend::SlotCacheSpec slot_spec(const model_spec::Glm5Next& spec, StageRange stage);
block::StateNeed state_need(const weight::Glm5NextModel& model, StageRange stage);
// All of it, of the model in the files.
Result<block::ModelNeeds> needs(const weight::ModelFiles& files, const LoadOptions& options);

// GLM-5.3-Flash: delta attention in most layers, unrotated latent attention over pooled-key
// selections in the others, routed experts, on hyper-connected residual streams.
template <Glm5NextBackend B>
class Glm5NextModel final : public AnyModel {
 public:
  // The weights may be used where they lie, so the files stay open as long as the model lives.
  static Result<std::unique_ptr<Glm5NextModel>> load(B& backend, const weight::Glm5NextModel& model,
                                                     const LoadOptions& options);

  const ModelInfo& info() const override { return parts_.info; }
  SequenceStates& states() override { return states_; }
  Result<RoundOutput> submit(const Round& round) override;

 private:
  using Tensor = typename B::Tensor;
  using Weight = typename B::Weight;

  struct Linear {
    typename block::DeltaBlock<B>::Weights weights;
    backend::SlotPlaneId plane;
  };
  struct Indexer {
    typename block::IndexerBlock<B>::Weights weights;
    backend::PlaneId pooled_keys;
    backend::SlotPlaneId open_pool;
  };
  struct Sparse {
    typename block::LatentBlock<B>::Weights weights;
    backend::PlaneId plane;
    std::optional<Indexer> indexer;  // absent: the last selection again
  };
  struct Layer {
    Weight attention_norm, mlp_norm;
    typename block::StreamBlock<B>::Weights attention_streams, mlp_streams;
    std::variant<Linear, Sparse> attention;
    typename block::MixtureBlock<B>::Weights mlp;
  };

  struct Parts {
    ModelInfo info;
    model_spec::Glm5Next spec;
    block::EndsBlock<B> ends;
    std::vector<Layer> layers;  // of the stage
    block::DeltaBlock<B> delta;
    block::LatentBlock<B> latent;
    block::IndexerBlock<B> indexer;
    typename B::Selection selection;
    block::MixtureBlock<B> mlp;
    block::StreamBlock<B> stream;
    Tensor streams, rows, normed;  // the streams; what a sublayer gives; what it reads
  };

  Glm5NextModel(B& backend, Parts parts, RecurrentStore<B> store);

  static Result<std::vector<Layer>> load_layers(block::WeightLoader<B>& loader,
                                                const weight::Glm5NextModel& model,
                                                StageRange stage);
  // The planes that a stage's layers have been given so far.
  struct Planes {
    std::uint32_t pages = 0;
    std::uint32_t slots = 0;
  };
  static Result<Sparse> load_sparse(block::WeightLoader<B>& loader,
                                    const weight::Glm5NextLayer& views,
                                    const model_spec::Glm5Next& spec, Planes& planes);

  struct Segments {
    std::vector<backend::PagedSegment> pages;
    std::vector<backend::SlotSegment> slots;
  };
  Result<RoundOutput> run(const Round& round);
  Status begin(const Round& round);
  Status attend(const Layer& layer, const Segments& segments);
  Status attend_sparse(const Sparse& sparse, const Segments& segments);
  Result<RoundOutput> finish(const Round& round);

  B& backend_;
  Parts parts_;
  RecurrentStates<B> states_;
};

}  // namespace zllm::runtime::glm5_next
