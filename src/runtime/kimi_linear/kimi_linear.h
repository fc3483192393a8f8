#pragma once

#include <memory>
#include <variant>
#include <vector>

#include <zllm/backend/capability/delta_rule.h>
#include <zllm/backend/capability/mla.h>
#include <zllm/backend/capability/moe.h>
#include <zllm/runtime/any_model.h>
#include <zllm/runtime/block/delta_block.h>
#include <zllm/runtime/block/ends_block.h>
#include <zllm/runtime/block/inventory.h>
#include <zllm/runtime/block/latent_block.h>
#include <zllm/runtime/block/mixture_block.h>
#include <zllm/runtime/block/model_needs.h>
#include <zllm/runtime/block/state_plan.h>
#include <zllm/runtime/load.h>
#include <zllm/runtime/recurrent_states.h>
#include <zllm/runtime/stage_input.h>
#include <zllm/weight/assembly/kimi_linear.h>

namespace zllm::runtime::kimi_linear {

// What the family asks of a backend.
template <class B>
concept KimiLinearBackend =
    backend::MlaBackend<B> && backend::DeltaRuleBackend<B> && backend::MoeBackend<B>;

block::DeltaShape delta_shape(const model_spec::KimiLinear& spec);
// The weights that a stage needs, and what else the model asks of a backend.
block::Inventory inventory(const weight::KimiLinearModel& model, StageRange stage);
std::vector<backend::OpKey> requirements(const weight::KimiLinearModel& model, StageRange stage,
                                         const LoadOptions& options);
// A plane of latents for every layer of latent attention, a slot's plane for every linear one.
backend::PagedCacheSpec cache_spec(const model_spec::KimiLinear& spec, StageRange stage,
                                   const LoadOptions& options);
backend::SlotCacheSpec slot_spec(const model_spec::KimiLinear& spec, StageRange stage);
block::StateNeed state_need(const weight::KimiLinearModel& model, StageRange stage);
// All of it, of the model in the files.
Result<block::ModelNeeds> needs(const weight::ModelFiles& files, const LoadOptions& options);

// Kimi Linear: delta attention in most layers, unrotated latent attention in the others, routed
// experts, on one residual stream.
template <KimiLinearBackend B>
class KimiLinearModel final : public AnyModel {
 public:
  // The weights may be used where they lie, so the files stay open as long as the model lives.
  static Result<std::unique_ptr<KimiLinearModel>> load(B& backend,
                                                       const weight::KimiLinearModel& model,
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
  struct Full {
    typename block::LatentBlock<B>::Weights weights;
    backend::PlaneId plane;
  };
  struct Layer {
    Weight attention_norm, mlp_norm;
    std::variant<Linear, Full> attention;
    typename block::MixtureBlock<B>::Weights mlp;
  };

  struct Parts {
    ModelInfo info;
    model_spec::KimiLinear spec;
    block::EndsBlock<B> ends;
    std::vector<Layer> layers;  // of the stage
    block::DeltaBlock<B> delta;
    block::LatentBlock<B> latent;
    block::MixtureBlock<B> mlp;
    Tensor residual, normed;
  };

  KimiLinearModel(B& backend, Parts parts, RecurrentStore<B> store);

  static Result<std::vector<Layer>> load_layers(block::WeightLoader<B>& loader,
                                                const weight::KimiLinearModel& model,
                                                StageRange stage);
  Result<RoundOutput> run(const Round& round);
  void set_rows(std::uint32_t rows);

  B& backend_;
  Parts parts_;
  RecurrentStates<B> states_;
};

}  // namespace zllm::runtime::kimi_linear
