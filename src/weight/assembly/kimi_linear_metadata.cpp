#include <array>
#include <string>
#include <string_view>

#include <zllm/base/text.h>
#include <zllm/weight/assembly/gguf_family.h>
#include <zllm/weight/assembly/kimi_linear_spec.h>
#include <zllm/weight/assembly/latent_attention.h>
#include <zllm/weight/assembly/metadata_reader.h>
#include <zllm/weight/assembly/mixture_metadata.h>
#include <zllm/weight/assembly/vocabulary_metadata.h>

namespace zllm::weight {
namespace {

constexpr std::array<std::string_view, 1> kArchitectures = {"kimi-linear"};
constexpr std::string_view kKeyHeads = "attention.head_count_kv";
constexpr IntegerRange kTapsRange{1, 64};  // 16 times the most known

// A layer without key heads is linear.
Result<std::vector<bool>> linear_layers(const MetadataReader& metadata, std::uint32_t layers) {
  ZLLM_TRY(const auto heads, metadata.metadata().integers(metadata.key(kKeyHeads)));
  if (!heads || heads->size() != layers) {
    return metadata.error(Code::invalid_file, kKeyHeads,
                          concat("must have one entry for each of ", layers, " layers, found ",
                                 heads ? heads->size() : 0));
  }
  std::vector<bool> is_linear;
  for (const std::int64_t count : *heads) {
    is_linear.push_back(count == 0);
  }
  return is_linear;
}

Status read_delta(const MetadataReader& metadata, model_spec::KimiLinear& spec) {
  ZLLM_TRY(const auto width, metadata.required_integer("kda.head_dim", kHeadWidthRange));
  ZLLM_TRY(const auto taps, metadata.required_integer("ssm.conv_kernel", kTapsRange));
  spec.delta.key_heads = spec.attention.mla.heads;
  spec.delta.value_heads = spec.attention.mla.heads;
  spec.delta.key_width = static_cast<std::uint32_t>(width);
  spec.delta.value_width = static_cast<std::uint32_t>(width);
  spec.delta.taps = static_cast<std::uint32_t>(taps);
  spec.delta.rates_are_logarithms = false;
  spec.gate_rank = spec.delta.value_width;
  return {};
}

}  // namespace

Result<model_spec::KimiLinear> kimi_linear_from_metadata(const GgufMetadata& file,
                                                         const TensorTable& tensors) {
  ZLLM_TRY(gguf_family_of(file, kArchitectures));
  const MetadataReader metadata(file, kArchitectures[0]);
  ZLLM_TRY(refuse_gguf_knobs(metadata));
  ZLLM_TRY(const GgufBlocks blocks, gguf_blocks(metadata));
  if (blocks.blocks != blocks.layers) {
    return metadata.error(Code::unsupported, "nextn_predict_layers",
                          "is not supported for this family");
  }
  model_spec::KimiLinear spec;
  spec.architecture = std::string(kArchitectures[0]);
  spec.layers = blocks.layers;
  ZLLM_TRY(const auto hidden, metadata.required_integer("embedding_length", kHiddenRange));
  spec.hidden = static_cast<std::uint32_t>(hidden);
  ZLLM_TRY(spec.max_positions, metadata.required_integer("context_length", kPositionRange));
  ZLLM_TRY(spec.norm_epsilon,
           metadata.required_number("attention.layer_norm_rms_epsilon", kEpsilonRange));
  ZLLM_TRY(spec.vocabulary, vocabulary_from_metadata(metadata, tensors));
  ZLLM_TRY(spec.is_linear, linear_layers(metadata, spec.layers));
  ZLLM_TRY(spec.attention, latent_attention_from_metadata(metadata, spec.layers, 1.0));
  ZLLM_TRY(read_delta(metadata, spec));
  ZLLM_TRY(spec.mixture,
           mixture_from_metadata(metadata, tensors, blocks, moe::Scoring::sigmoid, true));
  spec.tied_embeddings = tensors.find("output.weight") == nullptr;
  return spec;
}

}  // namespace zllm::weight
