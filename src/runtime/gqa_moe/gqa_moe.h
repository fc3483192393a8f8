#pragma once

#include <memory>
#include <vector>

#include <zllm/backend/capability/gqa.h>
#include <zllm/backend/capability/moe.h>
#include <zllm/runtime/any_model.h>
#include <zllm/runtime/block/ends_block.h>
#include <zllm/runtime/block/gqa_block.h>
#include <zllm/runtime/block/inventory.h>
#include <zllm/runtime/block/mixture_block.h>
#include <zllm/runtime/block/model_needs.h>
#include <zllm/runtime/block/state_plan.h>
#include <zllm/runtime/load.h>
#include <zllm/runtime/paged_states.h>
#include <zllm/runtime/stage_input.h>
#include <zllm/weight/assembly/gqa_moe.h>

namespace zllm::runtime::gqa_moe {

// What the family asks of a backend.
template <class B>
concept GqaMoeBackend = backend::GqaBackend<B> && backend::MoeBackend<B>;

block::GqaShape gqa_shape(const model_spec::GqaMoe& spec);
// The weights that a stage needs, and what else the model asks of a backend.
block::Inventory inventory(const weight::GqaMoeModel& model, StageRange stage);
std::vector<backend::OpKey> requirements(const weight::GqaMoeModel& model, StageRange stage,
                                         const LoadOptions& options);
backend::PagedCacheSpec cache_spec(const model_spec::GqaMoe& spec, StageRange stage,
                                   const LoadOptions& options);
block::StateNeed state_need(const weight::GqaMoeModel& model, StageRange stage);
// All of it, of the model in the files.
Result<block::ModelNeeds> needs(const weight::ModelFiles& files, const LoadOptions& options);

// Grouped-query decoders whose layers have routed experts (Qwen1.5-MoE and Qwen2-MoE, Qwen3-MoE,
// GLM-4.5) over any backend with paged grouped-query attention and experts.
template <GqaMoeBackend B>
class GqaMoeModel final : public AnyModel {
 public:
  // The weights may be used where they lie, so the files stay open as long as the model lives.
  static Result<std::unique_ptr<GqaMoeModel>> load(B& backend, const weight::GqaMoeModel& model,
                                                   const LoadOptions& options);

  const ModelInfo& info() const override { return parts_.info; }
  SequenceStates& states() override { return states_; }
  Result<RoundOutput> submit(const Round& round) override;

 private:
  using Tensor = typename B::Tensor;
  using Weight = typename B::Weight;

  struct Layer {
    Weight attention_norm, mlp_norm;
    typename block::GqaBlock<B>::Weights attention;
    typename block::MixtureBlock<B>::Weights mlp;
  };

  struct Parts {
    ModelInfo info;
    model_spec::GqaMoe spec;
    block::EndsBlock<B> ends;
    std::vector<Layer> layers;  // of the stage
    block::Rotation<B> rotation;
    block::GqaBlock<B> attention;
    block::MixtureBlock<B> mlp;
    Tensor residual, normed;
  };

  GqaMoeModel(B& backend, Parts parts, typename B::PagedCache cache,
              const backend::PagedCacheSpec& cache_spec);

  static Result<std::vector<Layer>> load_layers(block::WeightLoader<B>& loader,
                                                const weight::GqaMoeModel& model, StageRange stage);
  Result<RoundOutput> run(const Round& round);

  B& backend_;
  Parts parts_;
  PagedStates<B> states_;
};

}  // namespace zllm::runtime::gqa_moe
