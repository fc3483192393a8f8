#include <zllm/weight/assembly/latent_attention.h>

#include <cmath>
#include <optional>
#include <string>

#include <zllm/base/text.h>
#include <zllm/weight/assembly/limits.h>

namespace zllm::weight {
namespace {

using encoding::WeightView;

float scale_of(const attention::mla::Spec& mla, double score_factor) {
  const double width = double{1} * mla.nope + mla.rope;
  return static_cast<float>(score_factor / std::sqrt(width));
}

// Every head has its own keys and values: what else a configuration may say of them is empty talk.
Status check_stated(const ConfigReader& config, const attention::mla::Spec& mla) {
  ZLLM_TRY(const auto kv_heads, config.integer("num_key_value_heads", kHeadCountRange));
  if (kv_heads && *kv_heads != mla.heads) {
    return config.error(Code::invalid_file, "num_key_value_heads",
                        concat(*kv_heads, " contradicts num_attention_heads ", mla.heads,
                               "; latent attention makes keys and values of every head"));
  }
  ZLLM_TRY(const auto width, config.integer("qk_head_dim", kHeadWidthRange));
  if (width && *width != std::uint64_t{mla.nope} + mla.rope) {
    return config.error(Code::invalid_file, "qk_head_dim",
                        concat(*width, " contradicts qk_nope_head_dim ", mla.nope,
                               " and qk_rope_head_dim ", mla.rope));
  }
  return {};
}

Result<std::uint32_t> query_rank_of(const ConfigReader& config) {
  if (config.states_null("q_lora_rank")) {
    return std::uint32_t{0};
  }
  ZLLM_TRY(const auto rank, config.required_integer("q_lora_rank", kRankRange));
  return static_cast<std::uint32_t>(rank);
}

// The first columns of a vector, and those after them.
WeightView columns_of(const WeightView& vector, std::uint64_t first, std::uint64_t count) {
  const std::uint64_t size = encoding::info(vector.encoding).block_bytes;
  WeightView part = vector;
  part.columns = count;
  part.bytes = vector.bytes.subspan(first * size, count * size);
  return part;
}

class Layer {
 public:
  Layer(WeightBinder& binder, std::string_view prefix, const LatentAttentionNames& names,
        const model_spec::LatentAttention& spec, std::uint32_t hidden)
      : binder_(binder), prefix_(prefix), names_(names), spec_(spec), hidden_(hidden) {}

  LatentAttentionWeights bind() {
    LatentAttentionWeights weights;
    bind_query(weights);
    bind_latent(weights);
    bind_up(weights);
    const std::uint64_t values = std::uint64_t{spec_.mla.heads} * spec_.mla.value;
    weights.output = binder_.matrix(name(names_.output), hidden_, values);
    weights.output_bias = bias(names_.output_bias, hidden_);
    return weights;
  }

 private:
  std::string name(std::string_view ending) const { return concat(prefix_, ending); }
  bool has(std::string_view ending) const { return !ending.empty() && binder_.has(name(ending)); }

  std::optional<WeightView> bias(std::string_view ending, std::uint64_t size) {
    if (!spec_.bias) {
      return std::nullopt;
    }
    return binder_.vector(name(ending), size);
  }

  void bind_query(LatentAttentionWeights& weights) {
    const attention::mla::Spec& mla = spec_.mla;
    const std::uint64_t lanes = mla.heads * (std::uint64_t{mla.nope} + mla.rope);
    if (spec_.query_rank == 0) {
      weights.query = binder_.matrix(name(names_.query), lanes, hidden_);
      return;
    }
    weights.query_down = binder_.matrix(name(names_.query_down), spec_.query_rank, hidden_);
    weights.query_down_bias = bias(names_.query_down_bias, spec_.query_rank);
    weights.query_norm = binder_.vector(name(names_.query_norm), spec_.query_rank);
    weights.query = binder_.matrix(name(names_.query_up), lanes, spec_.query_rank);
  }

  void bind_latent(LatentAttentionWeights& weights) {
    const std::uint64_t latent = spec_.mla.latent;
    const std::uint64_t rope = spec_.mla.rope;
    const WeightView both = binder_.matrix(name(names_.latent), latent + rope, hidden_);
    const std::optional<WeightView> both_bias = bias(names_.latent_bias, latent + rope);
    weights.latent_norm = binder_.vector(name(names_.latent_norm), latent);
    if (both.rows != 0) {  // 0: the binder has noted why
      weights.latent = encoding::slice_rows(both, 0, latent);
      if (rope != 0) {
        weights.shared_key = encoding::slice_rows(both, latent, rope);
      }
    }
    if (both_bias && both_bias->rows != 0) {
      weights.latent_bias = columns_of(*both_bias, 0, latent);
      if (rope != 0) {
        weights.shared_key_bias = columns_of(*both_bias, latent, rope);
      }
    }
  }

  void bind_up(LatentAttentionWeights& weights) {
    const attention::mla::Spec& mla = spec_.mla;
    const bool is_split = !names_.up_keys.empty() && (has(names_.up_keys) || !has(names_.up_fused));
    if (is_split) {
      weights.up_keys_transposed =
          binder_.flat_matrix(name(names_.up_keys), mla.heads, mla.latent, mla.nope);
      weights.up_values =
          binder_.flat_matrix(name(names_.up_values), mla.heads, mla.value, mla.latent);
    }
    if (!is_split || has(names_.up_fused)) {  // some files have both forms
      const std::uint64_t rows = mla.heads * (std::uint64_t{mla.nope} + mla.value);
      const WeightView fused = binder_.matrix(name(names_.up_fused), rows, mla.latent);
      weights.up_fused = is_split ? WeightView() : fused;
    }
  }

  WeightBinder& binder_;
  std::string_view prefix_;
  const LatentAttentionNames& names_;
  const model_spec::LatentAttention& spec_;
  std::uint64_t hidden_;
};

}  // namespace

Result<model_spec::LatentAttention> latent_attention_from_config(const ConfigReader& config,
                                                                 double score_factor) {
  ZLLM_TRY(const auto heads, config.required_integer("num_attention_heads", kHeadCountRange));
  ZLLM_TRY(const auto latent, config.required_integer("kv_lora_rank", kRankRange));
  ZLLM_TRY(const auto nope, config.required_integer("qk_nope_head_dim", kHeadWidthRange));
  ZLLM_TRY(const auto rope, config.required_integer("qk_rope_head_dim", kRopeWidthRange));
  ZLLM_TRY(const auto value, config.required_integer("v_head_dim", kHeadWidthRange));
  model_spec::LatentAttention spec;
  spec.mla = {.heads = static_cast<std::uint32_t>(heads),
              .latent = static_cast<std::uint32_t>(latent),
              .nope = static_cast<std::uint32_t>(nope),
              .rope = static_cast<std::uint32_t>(rope),
              .value = static_cast<std::uint32_t>(value)};
  spec.mla.scale = scale_of(spec.mla, score_factor);
  ZLLM_TRY(check_stated(config, spec.mla));
  ZLLM_TRY(spec.query_rank, query_rank_of(config));
  ZLLM_TRY(spec.bias, config.boolean_or("attention_bias", false));
  return spec;
}

Result<model_spec::LatentAttention> latent_attention_from_metadata(const MetadataReader& metadata,
                                                                   std::uint64_t layers,
                                                                   double score_factor) {
  ZLLM_TRY(const auto heads,
           metadata.uniform_integer("attention.head_count", kHeadCountRange, layers));
  if (!heads) {
    return metadata.error(Code::invalid_file, "attention.head_count", "is missing");
  }
  const bool is_current = metadata.has("attention.key_length_mla");
  const std::string_view key_name =
      is_current ? "attention.key_length_mla" : "attention.key_length";
  ZLLM_TRY(const auto latent, metadata.required_integer("attention.kv_lora_rank", kRankRange));
  ZLLM_TRY(const auto rope, metadata.required_integer("rope.dimension_count", kRopeWidthRange));
  ZLLM_TRY(const auto key, metadata.required_integer(key_name, kHeadWidthRange));
  ZLLM_TRY(const auto value, metadata.required_integer(is_current ? "attention.value_length_mla"
                                                                  : "attention.value_length",
                                                       kHeadWidthRange));
  constexpr IntegerRange kQueryRankRange{0, kRankRange.maximum};  // 0: one full matrix
  ZLLM_TRY(const auto query_rank, metadata.integer_or("attention.q_lora_rank", kQueryRankRange, 0));
  if (key <= rope) {
    return metadata.error(Code::invalid_file, key_name,
                          concat(key, " leaves no lane beside rope.dimension_count ", rope));
  }
  model_spec::LatentAttention spec;
  spec.mla = {.heads = static_cast<std::uint32_t>(*heads),
              .latent = static_cast<std::uint32_t>(latent),
              .nope = static_cast<std::uint32_t>(key - rope),
              .rope = static_cast<std::uint32_t>(rope),
              .value = static_cast<std::uint32_t>(value)};
  spec.mla.scale = scale_of(spec.mla, score_factor);
  spec.query_rank = static_cast<std::uint32_t>(query_rank);
  return spec;
}

LatentAttentionWeights bind_latent_attention(WeightBinder& binder, std::string_view prefix,
                                             const LatentAttentionNames& names,
                                             const model_spec::LatentAttention& spec,
                                             std::uint32_t hidden) {
  return Layer(binder, prefix, names, spec, hidden).bind();
}

}  // namespace zllm::weight
