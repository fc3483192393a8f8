#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zllm/base/text.h>
#include <zllm/weight/assembly/gguf_family.h>
#include <zllm/weight/assembly/indexer.h>
#include <zllm/weight/assembly/latent_attention.h>
#include <zllm/weight/assembly/metadata_reader.h>
#include <zllm/weight/assembly/mixture_metadata.h>
#include <zllm/weight/assembly/mla_moe_spec.h>
#include <zllm/weight/assembly/rope_metadata.h>
#include <zllm/weight/assembly/vocabulary_metadata.h>

namespace zllm::weight {
namespace {

using model_spec::IndexerKind;
using rope::Pairing;

struct Family {
  bool has_indexer;
  bool shares_selection;
  Pairing indexer_pairing;
  std::optional<moe::Scoring> scoring;  // of a file that does not state it
};

constexpr std::array<std::string_view, 3> kNames = {"deepseek2", "deepseek32", "glm-dsa"};
constexpr std::array<Family, 3> kFamilies = {{
    {false, false, Pairing::half, std::nullopt},  // V2 by softmax, V3 and K2 by sigmoid
    {true, false, Pairing::half, moe::Scoring::sigmoid},
    {true, true, Pairing::adjacent, moe::Scoring::sigmoid},
}};

// GLM-5.2 is the first that shares selections, and the first of a million positions. Files that
// were converted before its schedule had a key have the schedule of the published model.
constexpr std::uint64_t kSharingPositions = 1048576;
constexpr std::uint64_t kSharingEvery = 4;
constexpr std::uint64_t kSharingOffset = 3;

// Latent attention is written as attention with one key head of the latent's width, or in older
// files as attention with keys of every head.
Status check_stated(const MetadataReader& metadata, GgufBlocks blocks,
                    const attention::mla::Spec& mla) {
  const bool is_current = metadata.has("attention.key_length_mla");
  const std::uint64_t heads = is_current ? 1 : mla.heads;
  ZLLM_TRY(const auto kv_heads,
           metadata.uniform_integer("attention.head_count_kv", kHeadCountRange, blocks.blocks));
  if (kv_heads && *kv_heads != heads) {
    return metadata.error(Code::invalid_file, "attention.head_count_kv",
                          concat(*kv_heads, " must be ", heads, is_current ? " beside" : " without",
                                 " attention.key_length_mla"));
  }
  const std::uint64_t latent = mla.latent;
  if (!is_current) {
    return {};
  }
  for (const auto& [key, width] : {std::pair("attention.key_length", latent + mla.rope),
                                   std::pair("attention.value_length", latent)}) {
    ZLLM_TRY(const auto stated, metadata.integer(key, kRankRange));
    if (stated && *stated != width) {
      return metadata.error(Code::invalid_file, key,
                            concat(*stated, " contradicts attention.kv_lora_rank ", latent,
                                   " and rope.dimension_count ", mla.rope));
    }
  }
  return {};
}

Status read_attention(const MetadataReader& metadata, GgufBlocks blocks, model_spec::MlaMoe& spec) {
  ZLLM_TRY(const double factor, score_factor_from_metadata(metadata));
  ZLLM_TRY(spec.attention, latent_attention_from_metadata(metadata, blocks.blocks, factor));
  ZLLM_TRY(check_stated(metadata, blocks, spec.attention.mla));
  constexpr NumberRange kScaleRange{-1e9, 1e9};
  constexpr double kTolerance = 1e-5;  // the file states it in single precision
  ZLLM_TRY(const auto scale, metadata.number("attention.scale", kScaleRange));
  if (scale && *scale != 0 &&
      std::abs(*scale / static_cast<double>(spec.attention.mla.scale) - 1.0) > kTolerance) {
    return metadata.error(Code::unsupported, "attention.scale",
                          concat(*scale, " is not supported, only ", spec.attention.mla.scale));
  }
  return {};
}

Status read_rope(const MetadataReader& metadata, const TensorTable& tensors,
                 model_spec::MlaMoe& spec) {
  const RopeContext context{.head = spec.attention.mla.rope,
                            .max_positions = spec.max_positions,
                            .partial = 1.0,
                            .scales_scores = true};
  if (context.head == 0) {
    return metadata.error(Code::invalid_file, "rope.dimension_count", "0 is not supported");
  }
  ZLLM_TRY(spec.rope, rope_from_metadata(metadata, tensors, context, Pairing::adjacent));
  return {};
}

Result<std::vector<IndexerKind>> indexer_kinds(const MetadataReader& metadata, const Family& family,
                                               GgufBlocks blocks, std::uint64_t positions) {
  constexpr std::string_view kTypes = "attention.indexer.types";
  ZLLM_TRY(const auto types, metadata.metadata().booleans(metadata.key(kTypes)));
  if (!types) {
    const bool shares = family.shares_selection && positions >= kSharingPositions;
    return scheduled_indexers(blocks.layers, shares ? kSharingEvery : 1, kSharingOffset);
  }
  if (types->size() != blocks.layers && types->size() != blocks.blocks) {
    return metadata.error(Code::invalid_file, kTypes,
                          concat("must have one entry for each of ", blocks.layers,
                                 " layers, found ", types->size()));
  }
  std::vector<IndexerKind> kinds;
  kinds.reserve(blocks.layers);
  for (std::uint32_t layer = 0; layer < blocks.layers; ++layer) {
    kinds.push_back((*types)[layer] ? IndexerKind::full : IndexerKind::shared);
  }
  if (kinds.front() != IndexerKind::full) {
    return metadata.error(Code::invalid_file, kTypes,
                          "makes the first layer share a selection, but there is none before it");
  }
  if (!family.shares_selection && std::ranges::count(kinds, IndexerKind::shared) != 0) {
    return metadata.error(Code::unsupported, kTypes,
                          "shares selections, which this architecture does not do");
  }
  return kinds;
}

Status read_indexer(const MetadataReader& metadata, const Family& family, GgufBlocks blocks,
                    model_spec::MlaMoe& spec) {
  if (!family.has_indexer) {
    spec.indexers.assign(spec.layers, IndexerKind::none);
    return {};
  }
  if (spec.attention.query_rank == 0) {
    return metadata.error(Code::invalid_file, "attention.q_lora_rank",
                          "is missing, but the indexer reads the query's residual");
  }
  ZLLM_TRY(spec.indexer, indexer_from_metadata(metadata, spec.rope.rotated));
  ZLLM_TRY(spec.indexers, indexer_kinds(metadata, family, blocks, spec.max_positions));
  spec.indexer_pairing = family.indexer_pairing;
  return {};
}

}  // namespace

Result<model_spec::MlaMoe> mla_moe_from_metadata(const GgufMetadata& metadata,
                                                 const TensorTable& tensors) {
  ZLLM_TRY(const std::size_t index, gguf_family_of(metadata, kNames));
  const Family& family = kFamilies[index];
  const MetadataReader reader(metadata, kNames[index]);
  ZLLM_TRY(refuse_gguf_knobs(reader));
  ZLLM_TRY(const GgufBlocks blocks, gguf_blocks(reader));
  model_spec::MlaMoe spec;
  spec.architecture = std::string(kNames[index]);
  spec.layers = blocks.layers;
  ZLLM_TRY(const auto hidden, reader.required_integer("embedding_length", kHiddenRange));
  spec.hidden = static_cast<std::uint32_t>(hidden);
  ZLLM_TRY(spec.max_positions, reader.required_integer("context_length", kPositionRange));
  ZLLM_TRY(spec.norm_epsilon,
           reader.required_number("attention.layer_norm_rms_epsilon", kEpsilonRange));
  ZLLM_TRY(spec.vocabulary, vocabulary_from_metadata(reader, tensors));
  ZLLM_TRY(read_attention(reader, blocks, spec));
  ZLLM_TRY(read_rope(reader, tensors, spec));
  ZLLM_TRY(read_indexer(reader, family, blocks, spec));
  ZLLM_TRY(spec.mixture, mixture_from_metadata(reader, tensors, blocks, family.scoring));
  spec.tied_embeddings = tensors.find("output.weight") == nullptr;
  return spec;
}

}  // namespace zllm::weight
