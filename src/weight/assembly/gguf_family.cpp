#include <zllm/weight/assembly/gguf_family.h>

#include <algorithm>
#include <array>
#include <utility>

#include <zllm/base/text.h>

namespace zllm::weight {
namespace {

// Keys that change the dataflow when they have another value than this.
constexpr std::array<std::pair<std::string_view, double>, 6> kNeutralKnobs = {{
    {"attention.clamp_kqv", 0.0},
    {"attention.max_alibi_bias", 0.0},
    {"attention.temperature_scale", 0.0},
    {"logit_scale", 1.0},
    {"residual_scale", 1.0},
    {"embedding_scale", 1.0},
}};
constexpr NumberRange kKnobRange{-1e9, 1e9};
constexpr IntegerRange kDraftRange{0, kLayerRange.maximum};

}  // namespace

Result<std::size_t> gguf_family_of(const GgufMetadata& metadata,
                                   std::span<const std::string_view> architectures) {
  ZLLM_TRY(const auto architecture, metadata.string("general.architecture"));
  if (!architecture) {
    return Error{Code::invalid_file, "metadata key general.architecture is missing"};
  }
  const auto found = std::ranges::find(architectures, *architecture);
  if (found != architectures.end()) {
    return static_cast<std::size_t>(found - architectures.begin());
  }
  std::string list;
  for (const std::string_view name : architectures) {
    list += concat(list.empty() ? "" : ", ", name);
  }
  return Error{Code::unsupported, concat("metadata key general.architecture ", quote(*architecture),
                                         " is not supported; this family has ", list)};
}

Status refuse_gguf_knobs(const MetadataReader& metadata) {
  ZLLM_TRY(const auto kind, metadata.metadata().string("general.type"));
  if (kind && *kind != "model") {
    return Error{Code::unsupported, concat("metadata key general.type ", quote(*kind),
                                           " is not supported, only model")};
  }
  for (const auto& [suffix, neutral] : kNeutralKnobs) {
    ZLLM_TRY(const auto value, metadata.number(suffix, kKnobRange));
    if (value && *value != neutral) {
      return metadata.error(Code::unsupported, suffix, concat(*value, " is not supported"));
    }
  }
  ZLLM_TRY(const auto causal, metadata.metadata().boolean(metadata.key("attention.causal")));
  if (causal && !*causal) {
    return metadata.error(Code::unsupported, "attention.causal", "false is not supported");
  }
  return {};
}

Result<GgufBlocks> gguf_blocks(const MetadataReader& metadata) {
  ZLLM_TRY(const auto blocks, metadata.required_integer("block_count", kLayerRange));
  ZLLM_TRY(const auto drafts, metadata.integer_or("nextn_predict_layers", kDraftRange, 0));
  if (drafts >= blocks) {
    return metadata.error(Code::invalid_file, "nextn_predict_layers",
                          concat(drafts, " leaves nothing of block_count ", blocks));
  }
  return GgufBlocks{.blocks = static_cast<std::uint32_t>(blocks),
                    .layers = static_cast<std::uint32_t>(blocks - drafts)};
}

std::vector<std::string> gguf_draft_prefixes(GgufBlocks blocks) {
  std::vector<std::string> prefixes;
  for (std::uint32_t block = blocks.layers; block < blocks.blocks; ++block) {
    prefixes.push_back(concat("blk.", block, "."));
  }
  return prefixes;
}

}  // namespace zllm::weight
