#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include <zllm/base/text.h>
#include <zllm/weight/assembly/gguf_family.h>
#include <zllm/weight/assembly/gqa_moe_spec.h>
#include <zllm/weight/assembly/metadata_reader.h>
#include <zllm/weight/assembly/mixture_metadata.h>
#include <zllm/weight/assembly/rope_metadata.h>
#include <zllm/weight/assembly/vocabulary_metadata.h>

namespace zllm::weight {
namespace {

constexpr std::array<std::string_view, 2> kArchitectures = {"qwen3moe", "glm4moe"};
// Both have experts chosen and weighted in one way; files need not state it.
constexpr std::array<moe::Scoring, 2> kScorings = {moe::Scoring::softmax, moe::Scoring::sigmoid};
constexpr NumberRange kScaleRange{-1e9, 1e9};

Status read_heads(const MetadataReader& metadata, std::uint32_t blocks, model_spec::GqaMoe& spec) {
  ZLLM_TRY(const auto heads,
           metadata.uniform_integer("attention.head_count", kHeadCountRange, blocks));
  if (!heads) {
    return metadata.error(Code::invalid_file, "attention.head_count", "is missing");
  }
  ZLLM_TRY(const auto stated,
           metadata.uniform_integer("attention.head_count_kv", kHeadCountRange, blocks));
  const std::uint64_t kv_heads = stated.value_or(*heads);
  if (*heads % kv_heads != 0) {
    return metadata.error(Code::invalid_file, "attention.head_count_kv",
                          concat(kv_heads, " does not divide attention.head_count ", *heads));
  }
  ZLLM_TRY(const auto key, metadata.integer("attention.key_length", kHeadWidthRange));
  ZLLM_TRY(const auto value, metadata.integer("attention.value_length", kHeadWidthRange));
  if (!(key && value) && spec.hidden % *heads != 0) {
    return metadata.error(Code::invalid_file, "embedding_length",
                          concat(spec.hidden, " is no multiple of attention.head_count ", *heads,
                                 " and there is no attention.key_length"));
  }
  const std::uint64_t derived = spec.hidden / *heads;
  if (key.value_or(derived) != value.value_or(derived)) {
    return metadata.error(Code::unsupported, "attention.value_length",
                          concat(value.value_or(derived), " differs from the width of keys ",
                                 key.value_or(derived), ", which is not supported"));
  }
  spec.query_heads = static_cast<std::uint32_t>(*heads);
  spec.kv_heads = static_cast<std::uint32_t>(kv_heads);
  spec.head = static_cast<std::uint32_t>(key.value_or(derived));
  return {};
}

Status read_attention(const MetadataReader& metadata, model_spec::GqaMoe& spec) {
  ZLLM_TRY(const auto scale, metadata.number("attention.scale", kScaleRange));
  constexpr double kScaleTolerance = 1e-5;  // the file states it in single precision
  if (scale && *scale != 0 && std::abs(*scale * std::sqrt(spec.head) - 1.0) > kScaleTolerance) {
    return metadata.error(
        Code::unsupported, "attention.scale",
        concat(*scale, " is not supported, only the inverse square root of ", spec.head));
  }
  constexpr IntegerRange kWindowRange{0, kPositionRange.maximum};
  ZLLM_TRY(const auto window, metadata.integer_or("attention.sliding_window", kWindowRange, 0));
  if (metadata.has("attention.sliding_window_pattern")) {
    return metadata.error(Code::unsupported, "attention.sliding_window_pattern",
                          "is not supported for this family");
  }
  spec.window = static_cast<std::uint32_t>(window);
  return {};
}

void read_presence(const TensorTable& tensors, bool always_norm, model_spec::GqaMoe& spec) {
  const auto has = [&](std::string_view name) { return tensors.find(name) != nullptr; };
  spec.qkv_bias = has("blk.0.attn_q.bias") || has("blk.0.attn_k.bias") || has("blk.0.attn_v.bias");
  spec.output_bias = has("blk.0.attn_output.bias");
  spec.query_key_norm =
      always_norm || has("blk.0.attn_q_norm.weight") || has("blk.0.attn_k_norm.weight");
  spec.tied_embeddings = !has("output.weight");
}

}  // namespace

Result<model_spec::GqaMoe> gqa_moe_from_metadata(const GgufMetadata& file,
                                                 const TensorTable& tensors) {
  ZLLM_TRY(const std::size_t family, gguf_family_of(file, kArchitectures));
  const MetadataReader metadata(file, kArchitectures[family]);
  ZLLM_TRY(refuse_gguf_knobs(metadata));
  ZLLM_TRY(const GgufBlocks blocks, gguf_blocks(metadata));
  model_spec::GqaMoe spec;
  spec.architecture = std::string(kArchitectures[family]);
  spec.layers = blocks.layers;
  ZLLM_TRY(const auto hidden, metadata.required_integer("embedding_length", kHiddenRange));
  spec.hidden = static_cast<std::uint32_t>(hidden);
  ZLLM_TRY(spec.max_positions, metadata.required_integer("context_length", kPositionRange));
  ZLLM_TRY(spec.norm_epsilon,
           metadata.required_number("attention.layer_norm_rms_epsilon", kEpsilonRange));
  ZLLM_TRY(spec.vocabulary, vocabulary_from_metadata(metadata, tensors));
  ZLLM_TRY(read_heads(metadata, blocks.blocks, spec));
  ZLLM_TRY(read_attention(metadata, spec));
  ZLLM_TRY(spec.mixture, mixture_from_metadata(metadata, tensors, blocks, kScorings[family], true));
  read_presence(tensors, family == 0, spec);
  const RopeContext context{.head = spec.head, .max_positions = spec.max_positions};
  ZLLM_TRY(spec.rope, rope_from_metadata(metadata, tensors, context, rope::Pairing::half));
  return spec;
}

}  // namespace zllm::weight
