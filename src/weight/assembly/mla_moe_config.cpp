#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include <zllm/base/text.h>
#include <zllm/weight/assembly/config_reader.h>
#include <zllm/weight/assembly/hub_family.h>
#include <zllm/weight/assembly/indexer.h>
#include <zllm/weight/assembly/latent_attention.h>
#include <zllm/weight/assembly/mixture.h>
#include <zllm/weight/assembly/mla_moe_spec.h>
#include <zllm/weight/assembly/rope_config.h>

namespace zllm::weight {
namespace {

using model_spec::IndexerKind;
using rope::Pairing;

// What transformers makes of one model type.
struct Family {
  std::uint64_t default_positions;
  double default_epsilon;
  bool has_groups;        // n_group and topk_group have defaults that no reader would guess
  bool has_indexer;       // every layer attends to a selection
  bool shares_selection;  // indexer_types and its relatives count
  Pairing indexer_pairing;
  std::string_view layer_type;  // the one that layer_types may name
};

constexpr std::string_view kFull = "full_attention";
constexpr std::string_view kSparse = "deepseek_sparse_attention";
constexpr std::array<HubFamily, 4> kNames = {{
    {"deepseek_v3", "DeepseekV3ForCausalLM"},
    {"kimi_k2", "DeepseekV3ForCausalLM"},
    {"deepseek_v32", "DeepseekV32ForCausalLM"},
    {"glm_moe_dsa", "GlmMoeDsaForCausalLM"},
}};
constexpr std::array<Family, 4> kFamilies = {{
    {4096, 1e-6, true, false, false, Pairing::half, kFull},
    {4096, 1e-6, true, false, false, Pairing::half, kFull},
    {163840, 1e-6, true, true, false, Pairing::half, kSparse},
    {202752, 1e-5, false, true, true, Pairing::adjacent, kSparse},
}};
constexpr MixtureKeys kMixture = {
    .dense_layers = 3, .scaling = 2.5, .shared_experts = 1, .swiglu_limit = std::nullopt};

Status refuse_unsupported(const ConfigReader& config) {
  ZLLM_TRY(refuse_quantised(config));
  ZLLM_TRY(const bool mlp_bias, config.boolean_or("mlp_bias", false));
  if (mlp_bias) {
    return config.error(Code::unsupported, "mlp_bias", "true is not supported");
  }
  return {};
}

Status read_sizes(const ConfigReader& config, const Family& family, model_spec::MlaMoe& spec) {
  ZLLM_TRY(const HubSizes sizes, hub_sizes(config));
  spec.vocabulary = sizes.vocabulary;
  spec.hidden = sizes.hidden;
  spec.layers = sizes.layers;
  ZLLM_TRY(check_layer_types(config, family.layer_type, sizes.layers));
  ZLLM_TRY(spec.norm_epsilon,
           config.number_or("rms_norm_eps", kEpsilonRange, family.default_epsilon));
  ZLLM_TRY(spec.max_positions,
           config.integer_or("max_position_embeddings", kPositionRange, family.default_positions));
  ZLLM_TRY(spec.tied_embeddings, config.boolean_or("tie_word_embeddings", false));
  return {};
}

// A key that states a pairing; transformers reads it for DeepSeek-V3 alone, and elsewhere it may
// only say what is so anyway.
Result<Pairing> pairing_of(const ConfigReader& config, std::string_view key, Pairing fallback,
                           bool may_differ) {
  ZLLM_TRY(const bool is_adjacent, config.boolean_or(key, fallback == Pairing::adjacent));
  const Pairing pairing = is_adjacent ? Pairing::adjacent : Pairing::half;
  if (pairing != fallback && !may_differ) {
    return config.error(Code::unsupported, key,
                        concat(is_adjacent ? "true" : "false", " is not what this model type is"));
  }
  return pairing;
}

Status read_rope(const ConfigReader& config, const Family& family, model_spec::MlaMoe& spec,
                 std::vector<std::string>& warnings) {
  const RopeContext context{.head = spec.attention.mla.rope, .max_positions = spec.max_positions};
  if (context.head == 0) {
    return config.error(Code::invalid_file, "qk_rope_head_dim",
                        "0 is not supported for this model type");
  }
  ZLLM_TRY(spec.rope, rope_from_config(config, context, warnings));
  if (spec.rope.rotated != context.head) {
    return config.error(Code::unsupported, "partial_rotary_factor",
                        "leaves lanes unturned, which this model type does not have");
  }
  ZLLM_TRY(spec.rope.pairing,
           pairing_of(config, "rope_interleave", Pairing::adjacent, !family.has_indexer));
  return {};
}

Status read_indexer(const ConfigReader& config, const Family& family, model_spec::MlaMoe& spec) {
  spec.indexers.assign(spec.layers, IndexerKind::none);
  if (!family.has_indexer) {
    return {};
  }
  if (spec.attention.query_rank == 0) {
    return config.error(Code::unsupported, "q_lora_rank",
                        "null is not supported, since the indexer reads the query's residual");
  }
  ZLLM_TRY(spec.indexer, indexer_from_config(config, spec.rope.rotated));
  ZLLM_TRY(spec.indexers, indexer_kinds_from_config(config, spec.layers));
  if (!family.shares_selection &&
      std::ranges::find(spec.indexers, IndexerKind::shared) != spec.indexers.end()) {
    constexpr std::array<std::string_view, 3> kKeys = {"indexer_types", "index_topk_pattern",
                                                       "index_topk_freq"};
    const auto *key =
        std::ranges::find_if(kKeys, [&](std::string_view name) { return config.has(name); });
    return config.error(Code::unsupported, *key,
                        "shares selections, which this model type does not do");
  }
  ZLLM_TRY(spec.indexer_pairing,
           pairing_of(config, "indexer_rope_interleave", family.indexer_pairing, false));
  return {};
}

Status read_mixture(const ConfigReader& config, const Family& family, model_spec::MlaMoe& spec) {
  for (const std::string_view key : {"n_group", "topk_group"}) {
    if (family.has_groups && !config.has(key)) {
      return config.error(Code::invalid_file, key, "is missing");
    }
  }
  ZLLM_TRY(spec.mixture, mixture_from_config(config, kMixture, spec.layers));
  return {};
}

}  // namespace

Result<model_spec::MlaMoe> mla_moe_from_config(const Json& json,
                                               std::vector<std::string>& warnings) {
  ZLLM_TRY(const auto config, ConfigReader::open(json, "config.json"));
  ZLLM_TRY(const std::size_t index, hub_family_of(config, kNames));
  const Family& family = kFamilies[index];
  ZLLM_TRY(refuse_unsupported(config));
  model_spec::MlaMoe spec;
  spec.architecture = std::string(kNames[index].model_type);
  ZLLM_TRY(read_sizes(config, family, spec));
  ZLLM_TRY(const double factor, score_factor_from_config(config));
  ZLLM_TRY(spec.attention, latent_attention_from_config(config, factor));
  ZLLM_TRY(read_rope(config, family, spec, warnings));
  ZLLM_TRY(read_indexer(config, family, spec));
  ZLLM_TRY(read_mixture(config, family, spec));
  return spec;
}

}  // namespace zllm::weight
