#include <algorithm>
#include <string>
#include <vector>

#include <zllm/base/text.h>
#include <zllm/weight/assembly/mixture.h>

namespace zllm::weight {
namespace {

constexpr IntegerRange kDenseLayerRange{0, kLayerRange.maximum};
constexpr IntegerRange kGroupRange{0, kExpertCountRange.maximum};  // 0: none are used
constexpr NumberRange kScaleRange{0, kExpertScalingRange.maximum};
constexpr std::string_view kGating = "expert_gating_func";

Result<moe::Scoring> scoring_of(const MetadataReader& metadata, moe::Scoring fallback) {
  constexpr IntegerRange kAnyGating{0, 255};
  ZLLM_TRY(const auto gating, metadata.integer_or(kGating, kAnyGating, 0));
  switch (gating) {
    case 0:
      return fallback;
    case 1:
      return moe::Scoring::softmax;
    case 2:
      return moe::Scoring::sigmoid;
    default:
      return metadata.error(Code::unsupported, kGating,
                            concat(gating, " is not supported, only softmax (1) and sigmoid (2)"));
  }
}

Status read_router(const MetadataReader& metadata, const MixtureKeys& keys,
                   moe::RouterSpec& router) {
  ZLLM_TRY(const auto experts, metadata.required_integer("expert_count", kExpertCountRange));
  ZLLM_TRY(const auto chosen, metadata.required_integer("expert_used_count", kExpertCountRange));
  ZLLM_TRY(const auto groups, metadata.integer_or("expert_group_count", kGroupRange, 1));
  router.groups = static_cast<std::uint32_t>(std::max<std::uint64_t>(groups, 1));
  ZLLM_TRY(const auto kept, metadata.integer_or("expert_group_used_count", kGroupRange, 0));
  router.kept_groups = kept == 0 ? router.groups : static_cast<std::uint32_t>(kept);
  router.experts = static_cast<std::uint32_t>(experts);
  router.top_k = static_cast<std::uint32_t>(chosen);
  ZLLM_TRY(router.scoring, scoring_of(metadata, keys.scoring));
  if (router.kept_groups < router.groups && router.scoring == moe::Scoring::softmax) {
    // DeepSeek-V2 values a group by its one best expert.
    return metadata.error(Code::unsupported, "expert_group_count",
                          concat(groups, " is not supported for experts scored by softmax"));
  }
  ZLLM_TRY(const auto normalise, metadata.metadata().boolean(metadata.key("expert_weights_norm")));
  router.normalise = normalise.value_or(keys.normalise);
  ZLLM_TRY(const double scale,
           metadata.number_or("expert_weights_scale", kScaleRange, keys.scaling));
  router.scaling = scale == 0 ? 1.0f : static_cast<float>(scale);
  return {};
}

Status read_sizes(const MetadataReader& metadata, const MixtureKeys& keys, std::uint32_t blocks,
                  model_spec::Mixture& mixture) {
  ZLLM_TRY(const auto expert,
           metadata.uniform_integer("expert_feed_forward_length", kIntermediateRange, blocks));
  if (!expert) {
    return metadata.error(Code::invalid_file, "expert_feed_forward_length", "is missing");
  }
  ZLLM_TRY(const auto dense,
           metadata.uniform_integer("feed_forward_length", kIntermediateRange, blocks));
  ZLLM_TRY(const auto shared,
           metadata.integer_or("expert_shared_count", kSharedExpertRange, keys.shared_experts));
  constexpr IntegerRange kSharedWidthRange{0, kIntermediateRange.maximum};
  ZLLM_TRY(const auto width, metadata.integer_or("expert_shared_feed_forward_length",
                                                 kSharedWidthRange, shared * *expert));
  if (width > kIntermediateRange.maximum) {
    return metadata.error(Code::invalid_file, "expert_shared_count",
                          concat(shared, " times expert_feed_forward_length is ", width,
                                 ", more than ", kIntermediateRange.maximum));
  }
  mixture.expert_intermediate = static_cast<std::uint32_t>(*expert);
  mixture.shared_intermediate = static_cast<std::uint32_t>(width);
  const bool has_dense = std::ranges::find(mixture.is_sparse, false) != mixture.is_sparse.end();
  if (!dense && has_dense) {
    return metadata.error(Code::invalid_file, "feed_forward_length", "is missing");
  }
  mixture.dense_intermediate = static_cast<std::uint32_t>(dense.value_or(*expert));
  return {};
}

bool has_bias_tensor(const TensorTable& tensors, const std::vector<bool>& is_sparse) {
  const auto first = std::ranges::find(is_sparse, true) - is_sparse.begin();
  return tensors.find(concat("blk.", first, ".", kGgufMixture.selection_bias)) != nullptr;
}

}  // namespace

Result<model_spec::Mixture> mixture_from_metadata(const MetadataReader& metadata,
                                                  const TensorTable& tensors,
                                                  const MixtureKeys& keys, std::uint32_t layers,
                                                  std::uint32_t blocks) {
  model_spec::Mixture mixture;
  ZLLM_TRY(const auto dense,
           metadata.integer_or("leading_dense_block_count", kDenseLayerRange, keys.dense_layers));
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    mixture.is_sparse.push_back(layer >= dense);
  }
  ZLLM_TRY(read_router(metadata, keys, mixture.router));
  ZLLM_TRY(read_sizes(metadata, keys, blocks, mixture));
  mixture.router.has_selection_bias =
      keys.selection_bias || has_bias_tensor(tensors, mixture.is_sparse);
  const std::string defect = mixture_defect(mixture);
  if (!defect.empty()) {
    const bool of_groups = mixture.router.top_k <= mixture.router.experts;
    return metadata.error(Code::invalid_file,
                          of_groups ? "expert_group_count" : "expert_used_count", defect);
  }
  return mixture;
}

}  // namespace zllm::weight
