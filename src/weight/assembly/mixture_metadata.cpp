#include <zllm/weight/assembly/mixture_metadata.h>

#include <algorithm>
#include <string>

#include <zllm/base/text.h>
#include <zllm/weight/assembly/mixture.h>

namespace zllm::weight {
namespace {

constexpr std::string_view kScoring = "expert_gating_func";
constexpr IntegerRange kScoringRange{0, 255};  // 0: not stated
constexpr IntegerRange kDenseLayerRange{0, kLayerRange.maximum};
constexpr IntegerRange kGroupRange{0, kExpertCountRange.maximum};  // 0: not stated

Result<moe::Scoring> scoring_of(const MetadataReader& metadata, moe::Scoring fallback) {
  ZLLM_TRY(const auto number, metadata.integer_or(kScoring, kScoringRange, 0));
  switch (number) {
    case 0:
      return fallback;
    case 1:
      return moe::Scoring::softmax;
    case 2:
      return moe::Scoring::sigmoid;
    default:
      return metadata.error(Code::unsupported, kScoring,
                            concat(number, " is not supported, only 1 (softmax) and 2 (sigmoid)"));
  }
}

Status read_groups(const MetadataReader& metadata, moe::RouterSpec& router) {
  ZLLM_TRY(const auto groups, metadata.integer_or("expert_group_count", kGroupRange, 0));
  ZLLM_TRY(const auto kept, metadata.integer_or("expert_group_used_count", kGroupRange, 0));
  router.groups = static_cast<std::uint32_t>(std::max<std::uint64_t>(groups, 1));
  router.kept_groups = kept == 0 ? router.groups : static_cast<std::uint32_t>(kept);
  if (router.kept_groups < router.groups && router.scoring == moe::Scoring::softmax) {
    // DeepSeek-V2 values a group by its one best expert.
    return metadata.error(Code::unsupported, "expert_group_count",
                          concat(groups, " is not supported for experts scored by softmax"));
  }
  return {};
}

Status read_router(const MetadataReader& metadata, moe::Scoring fallback, bool normalise,
                   moe::RouterSpec& router) {
  ZLLM_TRY(const auto experts, metadata.required_integer("expert_count", kExpertCountRange));
  ZLLM_TRY(const auto chosen, metadata.required_integer("expert_used_count", kExpertCountRange));
  router.experts = static_cast<std::uint32_t>(experts);
  router.top_k = static_cast<std::uint32_t>(chosen);
  ZLLM_TRY(router.scoring, scoring_of(metadata, fallback));
  ZLLM_TRY(read_groups(metadata, router));
  ZLLM_TRY(const auto stated, metadata.metadata().boolean(metadata.key("expert_weights_norm")));
  router.normalise = stated.value_or(normalise);
  constexpr NumberRange kScaleRange{0.0, kExpertScalingRange.maximum};  // 0: not stated
  ZLLM_TRY(const double scaling, metadata.number_or("expert_weights_scale", kScaleRange, 0.0));
  router.scaling = scaling == 0.0 ? 1.0f : static_cast<float>(scaling);
  return {};
}

Status read_sizes(const MetadataReader& metadata, GgufBlocks blocks, model_spec::Mixture& mixture) {
  ZLLM_TRY(const auto dense,
           metadata.uniform_integer("feed_forward_length", kIntermediateRange, blocks.blocks));
  const bool has_dense = std::ranges::find(mixture.is_sparse, false) != mixture.is_sparse.end();
  if (has_dense && !dense) {
    return metadata.error(Code::invalid_file, "feed_forward_length", "is missing");
  }
  ZLLM_TRY(const auto expert, metadata.uniform_integer("expert_feed_forward_length",
                                                       kIntermediateRange, blocks.blocks));
  if (!expert) {
    return metadata.error(Code::invalid_file, "expert_feed_forward_length", "is missing");
  }
  ZLLM_TRY(const auto count, metadata.integer_or("expert_shared_count", kSharedExpertRange, 0));
  ZLLM_TRY(const auto shared,
           metadata.integer("expert_shared_feed_forward_length", kIntermediateRange));
  const std::uint64_t all_shared = shared.value_or(count * *expert);
  if (all_shared > kIntermediateRange.maximum) {
    return metadata.error(Code::invalid_file, "expert_shared_count",
                          concat("times expert_feed_forward_length is ", all_shared, ", more than ",
                                 kIntermediateRange.maximum));
  }
  mixture.dense_intermediate = static_cast<std::uint32_t>(dense.value_or(0));
  mixture.expert_intermediate = static_cast<std::uint32_t>(*expert);
  mixture.shared_intermediate = static_cast<std::uint32_t>(all_shared);
  return {};
}

}  // namespace

Result<model_spec::Mixture> mixture_from_metadata(const MetadataReader& metadata,
                                                  const TensorTable& tensors, GgufBlocks blocks,
                                                  std::optional<moe::Scoring> scoring,
                                                  bool normalise) {
  ZLLM_TRY(const auto dense, metadata.integer_or("leading_dense_block_count", kDenseLayerRange, 0));
  model_spec::Mixture mixture;
  for (std::uint32_t layer = 0; layer < blocks.layers; ++layer) {
    mixture.is_sparse.push_back(layer >= dense);
  }
  const std::string bias = concat("blk.", dense, ".", kGgufMixture.selection_bias);
  mixture.router.has_selection_bias = tensors.find(bias) != nullptr;
  const moe::Scoring guessed =
      mixture.router.has_selection_bias ? moe::Scoring::sigmoid : moe::Scoring::softmax;
  ZLLM_TRY(read_router(metadata, scoring.value_or(guessed), normalise, mixture.router));
  ZLLM_TRY(read_sizes(metadata, blocks, mixture));
  const std::string defect = mixture_defect(mixture);
  if (!defect.empty()) {
    const bool of_groups = mixture.router.top_k <= mixture.router.experts;
    return metadata.error(Code::invalid_file,
                          of_groups ? "expert_group_count" : "expert_used_count", defect);
  }
  return mixture;
}

}  // namespace zllm::weight
