#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include <zllm/base/text.h>
#include <zllm/weight/assembly/dense_decoder_spec.h>
#include <zllm/weight/assembly/gguf_family.h>
#include <zllm/weight/assembly/metadata_reader.h>
#include <zllm/weight/assembly/rope_metadata.h>
#include <zllm/weight/assembly/vocabulary_metadata.h>

namespace zllm::weight {
namespace {

struct Family {
  rope::Pairing pairing;
  bool always_qkv_bias;
  bool query_key_norm;
};

// The converter of llama permutes the rows of queries and keys, so that pairs lie side by side.
constexpr std::array<std::string_view, 3> kNames = {"llama", "qwen2", "qwen3"};
constexpr std::array<Family, 3> kFamilies = {{
    {rope::Pairing::adjacent, false, false},
    {rope::Pairing::half, true, false},
    {rope::Pairing::half, false, true},
}};

constexpr NumberRange kKnobRange{-1e9, 1e9};
constexpr std::array<std::string_view, 2> kExpertCounts = {"expert_count", "expert_used_count"};
constexpr IntegerRange kExpertRange{0, 1U << 16};

Status refuse_experts(const MetadataReader& reader) {
  for (const std::string_view suffix : kExpertCounts) {
    ZLLM_TRY(const std::uint64_t count, reader.integer_or(suffix, kExpertRange, 0));
    if (count != 0) {
      return reader.error(Code::unsupported, suffix, concat(count, " is not supported"));
    }
  }
  return {};
}

Status read_heads(const MetadataReader& reader, model_spec::DenseDecoder& spec) {
  ZLLM_TRY(const auto heads,
           reader.uniform_integer("attention.head_count", kHeadCountRange, spec.layers));
  if (!heads) {
    return reader.error(Code::invalid_file, "attention.head_count", "is missing");
  }
  ZLLM_TRY(const auto stated_kv,
           reader.uniform_integer("attention.head_count_kv", kHeadCountRange, spec.layers));
  const std::uint64_t kv_heads = stated_kv.value_or(*heads);
  if (*heads % kv_heads != 0) {
    return reader.error(Code::invalid_file, "attention.head_count_kv",
                        concat(kv_heads, " does not divide attention.head_count ", *heads));
  }
  ZLLM_TRY(const auto key, reader.integer("attention.key_length", kHeadWidthRange));
  ZLLM_TRY(const auto value, reader.integer("attention.value_length", kHeadWidthRange));
  if (!(key && value) && spec.hidden % *heads != 0) {
    return reader.error(Code::invalid_file, "embedding_length",
                        concat(spec.hidden, " is no multiple of attention.head_count ", *heads,
                               " and there is no attention.key_length"));
  }
  const std::uint64_t derived = spec.hidden / *heads;
  if (key.value_or(derived) != value.value_or(derived)) {
    return reader.error(Code::unsupported, "attention.value_length",
                        concat(value.value_or(derived), " differs from the width of keys ",
                               key.value_or(derived), ", which is not supported"));
  }
  spec.query_heads = static_cast<std::uint32_t>(*heads);
  spec.kv_heads = static_cast<std::uint32_t>(kv_heads);
  spec.head = static_cast<std::uint32_t>(key.value_or(derived));
  ZLLM_TRY(const auto scale, reader.number("attention.scale", kKnobRange));
  constexpr double kScaleTolerance = 1e-5;  // the file states it in single precision
  if (scale && *scale != 0 && std::abs(*scale * std::sqrt(spec.head) - 1.0) > kScaleTolerance) {
    return reader.error(
        Code::unsupported, "attention.scale",
        concat(*scale, " is not supported, only the inverse square root of ", spec.head));
  }
  return {};
}

Status read_sizes(const MetadataReader& reader, model_spec::DenseDecoder& spec) {
  ZLLM_TRY(const auto layers, reader.required_integer("block_count", kLayerRange));
  ZLLM_TRY(const auto hidden, reader.required_integer("embedding_length", kHiddenRange));
  ZLLM_TRY(const auto intermediate,
           reader.uniform_integer("feed_forward_length", kIntermediateRange, layers));
  if (!intermediate) {
    return reader.error(Code::invalid_file, "feed_forward_length", "is missing");
  }
  ZLLM_TRY(spec.max_positions, reader.required_integer("context_length", kPositionRange));
  ZLLM_TRY(spec.norm_epsilon,
           reader.required_number("attention.layer_norm_rms_epsilon", kEpsilonRange));
  spec.layers = static_cast<std::uint32_t>(layers);
  spec.hidden = static_cast<std::uint32_t>(hidden);
  spec.intermediate = static_cast<std::uint32_t>(*intermediate);
  return read_heads(reader, spec);
}

// Every layer slides unless an array says which do; a window of 0 is none.
Status read_windows(const MetadataReader& reader, model_spec::DenseDecoder& spec) {
  constexpr std::string_view kPattern = "attention.sliding_window_pattern";
  constexpr IntegerRange kWindowRange{0, kPositionRange.maximum};
  ZLLM_TRY(const auto window, reader.integer_or("attention.sliding_window", kWindowRange, 0));
  spec.windows.assign(spec.layers, static_cast<std::uint32_t>(window));
  const GgufValue *pattern = reader.metadata().find(reader.key(kPattern));
  if (pattern != nullptr && !std::holds_alternative<GgufArray>(*pattern)) {
    return reader.error(Code::unsupported, kPattern,
                        "is supported only as an array with true or false for each layer");
  }
  ZLLM_TRY(const auto slides, reader.metadata().booleans(reader.key(kPattern)));
  if (!slides) {
    return {};
  }
  if (slides->size() != spec.layers) {
    return reader.error(
        Code::invalid_file, kPattern,
        concat("must have one entry for each of ", spec.layers, " layers, found ", slides->size()));
  }
  for (std::uint32_t layer = 0; layer < spec.layers; ++layer) {
    spec.windows[layer] = (*slides)[layer] ? spec.windows[layer] : 0;
  }
  return {};
}

void read_presence(const TensorTable& tensors, const Family& family,
                   model_spec::DenseDecoder& spec) {
  const auto has = [&](std::string_view name) { return tensors.find(name) != nullptr; };
  spec.qkv_bias = family.always_qkv_bias || has("blk.0.attn_q.bias") || has("blk.0.attn_k.bias") ||
                  has("blk.0.attn_v.bias");
  spec.output_bias = has("blk.0.attn_output.bias");
  spec.mlp_bias =
      has("blk.0.ffn_gate.bias") || has("blk.0.ffn_up.bias") || has("blk.0.ffn_down.bias");
  spec.query_key_norm = family.query_key_norm;
  spec.tied_embeddings = !has("output.weight");
}

}  // namespace

Result<model_spec::DenseDecoder> dense_decoder_from_metadata(const GgufMetadata& metadata,
                                                             const TensorTable& tensors) {
  ZLLM_TRY(const std::size_t index, gguf_family_of(metadata, kNames));
  const Family& family = kFamilies[index];
  const MetadataReader reader(metadata, kNames[index]);
  ZLLM_TRY(refuse_gguf_knobs(reader));
  ZLLM_TRY(refuse_experts(reader));
  model_spec::DenseDecoder spec;
  spec.architecture = std::string(kNames[index]);
  ZLLM_TRY(read_sizes(reader, spec));
  ZLLM_TRY(spec.vocabulary, vocabulary_from_metadata(reader, tensors));
  ZLLM_TRY(read_windows(reader, spec));
  read_presence(tensors, family, spec);
  const RopeContext context{.head = spec.head, .max_positions = spec.max_positions};
  ZLLM_TRY(spec.rope, rope_from_metadata(reader, tensors, context, family.pairing));
  return spec;
}

}  // namespace zllm::weight
