#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <zllm/base/text.h>
#include <zllm/weight/assembly/config_reader.h>
#include <zllm/weight/assembly/delta_attention.h>
#include <zllm/weight/assembly/glm5_next_spec.h>
#include <zllm/weight/assembly/hub_family.h>
#include <zllm/weight/assembly/indexer.h>
#include <zllm/weight/assembly/latent_attention.h>
#include <zllm/weight/assembly/mixture.h>

namespace zllm::weight {
namespace {

constexpr std::string_view kTextObject = "text_config";
constexpr std::string_view kTextType = "glm5_next_text";
constexpr std::array<HubFamily, 2> kFamilies = {{
    {"glm5_next", "Glm5NextForConditionalGeneration"},
    {kTextType, ""},  // has no class with a head of its own
}};
constexpr MixtureKeys kMixture = {.sparse_layers = SparseLayers::after_dense,
                                  .dense_layers = 3,
                                  .scoring = moe::Scoring::sigmoid,
                                  .selection_bias = true,
                                  .normalise = true,
                                  .scaling = 2.5,
                                  .shared_experts = 1,
                                  .swiglu_limit = 10.0};
constexpr DeltaKeys kDelta = {.lower_bound = -5.0,
                              .other_type = "deepseek_sparse_attention",
                              .period = 4,
                              .has_lists = false};
constexpr std::uint64_t kDefaultPositions = 1048576;
constexpr IntegerRange kStreamRange{1, 64};       // 16 times the known
constexpr IntegerRange kIterationRange{1, 1000};  // of Sinkhorn; converges in tens
constexpr IntegerRange kPoolRange{1, 1U << 16};   // positions of a pool

Status read_streams(const ConfigReader& config, model_spec::Glm5Next& spec) {
  ZLLM_TRY(const auto streams, config.integer_or("hc_mult", kStreamRange, 4));
  ZLLM_TRY(const auto iterations, config.integer_or("hc_sinkhorn_iters", kIterationRange, 20));
  ZLLM_TRY(spec.streams.epsilon, config.number_or("hc_eps", kEpsilonRange, 1e-6));
  spec.streams.streams = static_cast<std::uint32_t>(streams);
  spec.streams.iterations = static_cast<std::uint32_t>(iterations);
  spec.streams.norm_epsilon = spec.norm_epsilon;
  return {};
}

Status read_latent(const ConfigReader& config, model_spec::Glm5Next& spec) {
  ZLLM_TRY(spec.attention, latent_attention_from_config(config, 1.0));
  spec.attention.latent_norm_epsilon = spec.norm_epsilon;
  if (spec.attention.mla.rope != 0) {
    return config.error(Code::unsupported, "qk_rope_head_dim",
                        concat("must be 0 for this model type, found ", spec.attention.mla.rope));
  }
  if (spec.attention.query_rank == 0) {
    return config.error(Code::invalid_file, "q_lora_rank",
                        "must be a number, since indexers read the low-rank queries");
  }
  return {};
}

Status read_kpool(const ConfigReader& config, model_spec::Glm5Next& spec) {
  ZLLM_TRY(spec.kpool.indexer, indexer_from_config(config, 0));
  ZLLM_TRY(const auto pool, config.required_integer("index_kpool", kPoolRange));
  if (spec.kpool.indexer.top_k % pool != 0) {
    return config.error(Code::invalid_file, "index_topk",
                        concat(spec.kpool.indexer.top_k, " is no multiple of index_kpool ", pool));
  }
  spec.kpool.pool = static_cast<std::uint32_t>(pool);
  ZLLM_TRY(spec.kpool.select_tail, config.boolean_or("index_kpool_always_select_tail", true));
  ZLLM_TRY(const bool compresses, config.boolean_or("index_kpool_compress", true));
  if (!compresses) {
    return config.error(Code::unsupported, "index_kpool_compress",
                        "is false, but only pools weighted by learned gates are supported");
  }
  return {};
}

// The list of kinds covers all layers, but linear ones have nothing to select.
Status read_indexers(const ConfigReader& config, model_spec::Glm5Next& spec) {
  ZLLM_TRY(const auto kinds, indexer_kinds_from_config(config, spec.layers));
  bool has_owner = false;
  for (std::uint32_t layer = 0; layer < spec.layers; ++layer) {
    const bool is_full = kinds[layer] == model_spec::IndexerKind::full;
    spec.owns_indexer.push_back(!spec.is_linear[layer] && is_full);
    has_owner = has_owner || spec.owns_indexer.back();
    if (!spec.is_linear[layer] && !has_owner) {
      return config.error(Code::invalid_file, "indexer_types",
                          concat("makes layer ", layer,
                                 " share a selection, but no attention layer before it has one"));
    }
  }
  return {};
}

Result<model_spec::Glm5Next> read_text(const ConfigReader& config) {
  model_spec::Glm5Next spec;
  ZLLM_TRY(const HubSizes sizes, hub_sizes(config));
  spec.vocabulary = sizes.vocabulary;
  spec.hidden = sizes.hidden;
  spec.layers = sizes.layers;
  ZLLM_TRY(spec.norm_epsilon, config.number_or("rms_norm_eps", kEpsilonRange, 1e-5));
  ZLLM_TRY(spec.max_positions,
           config.integer_or("max_position_embeddings", kPositionRange, kDefaultPositions));
  ZLLM_TRY(read_streams(config, spec));
  ZLLM_TRY(spec.is_linear, linear_layers_from_config(config, kDelta, spec.layers));
  ZLLM_TRY(spec.delta, delta_from_config(config, kDelta));
  spec.gate_rank = spec.delta.value_width;
  ZLLM_TRY(read_latent(config, spec));
  ZLLM_TRY(read_kpool(config, spec));
  ZLLM_TRY(read_indexers(config, spec));
  ZLLM_TRY(spec.mixture, mixture_from_config(config, kMixture, spec.layers));
  return spec;
}

}  // namespace

const Json& glm5_next_text_config(const Json& config) {
  const Json *text = config.find(kTextObject);
  return text != nullptr && !text->is_null() ? *text : config;
}

Result<model_spec::Glm5Next> glm5_next_from_config(const Json& json) {
  ZLLM_TRY(const auto whole, ConfigReader::open(json, "config.json"));
  ZLLM_TRY(const std::size_t family, hub_family_of(whole, kFamilies));
  ZLLM_TRY(refuse_quantised(whole));
  ZLLM_TRY(const auto inner, whole.object(kTextObject));
  const ConfigReader& text = inner ? *inner : whole;
  if (inner) {
    ZLLM_TRY(refuse_quantised(text));
    ZLLM_TRY(const auto type, text.string("model_type"));
    if (type && *type != kTextType) {
      return text.error(Code::unsupported, "model_type",
                        concat(quote(*type), " is not supported, only ", kTextType));
    }
  }
  ZLLM_TRY(auto spec, read_text(text));
  spec.architecture = std::string(kFamilies[family].model_type);
  ZLLM_TRY(const bool fallback, text.boolean_or("tie_word_embeddings", false));
  ZLLM_TRY(spec.tied_embeddings, whole.boolean_or("tie_word_embeddings", fallback));
  return spec;
}

}  // namespace zllm::weight
