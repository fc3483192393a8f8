#include <array>
#include <string>

#include <zllm/base/text.h>
#include <zllm/weight/assembly/config_reader.h>
#include <zllm/weight/assembly/delta_attention.h>
#include <zllm/weight/assembly/hub_family.h>
#include <zllm/weight/assembly/kimi_linear_spec.h>
#include <zllm/weight/assembly/latent_attention.h>
#include <zllm/weight/assembly/mixture.h>

namespace zllm::weight {
namespace {

constexpr std::array<HubFamily, 1> kFamilies = {{{"kimi_linear", "KimiLinearForCausalLM"}}};
constexpr MixtureKeys kMixture = {.sparse_layers = SparseLayers::after_dense,
                                  .dense_layers = 1,
                                  .scoring = moe::Scoring::sigmoid,
                                  .selection_bias = true,
                                  .normalise = true,
                                  .scaling = 2.446,
                                  .shared_experts = 1,
                                  .swiglu_limit = {}};
constexpr DeltaKeys kDelta = {
    .lower_bound = {}, .other_type = "full_attention", .period = 0, .has_lists = true};
constexpr std::uint64_t kDefaultPositions = 1048576;

Result<std::uint64_t> positions_of(const ConfigReader& config) {
  ZLLM_TRY(const auto length, config.integer("model_max_length", kPositionRange));
  ZLLM_TRY(const auto positions, config.integer("max_position_embeddings", kPositionRange));
  if (length && positions && *length != *positions) {
    return config.error(Code::invalid_file, "model_max_length",
                        concat(*length, " contradicts max_position_embeddings ", *positions));
  }
  return length ? *length : positions.value_or(kDefaultPositions);
}

}  // namespace

Result<model_spec::KimiLinear> kimi_linear_from_config(const Json& json) {
  ZLLM_TRY(const auto config, ConfigReader::open(json, "config.json"));
  ZLLM_TRY(hub_family_of(config, kFamilies));
  ZLLM_TRY(refuse_quantised(config));
  ZLLM_TRY(const bool without_rotation, config.boolean_or("mla_use_nope", true));
  if (!without_rotation) {
    return config.error(Code::unsupported, "mla_use_nope",
                        "is false, but rotated latent attention is not supported here");
  }
  model_spec::KimiLinear spec;
  spec.architecture = std::string(kFamilies[0].model_type);
  ZLLM_TRY(const HubSizes sizes, hub_sizes(config));
  spec.vocabulary = sizes.vocabulary;
  spec.hidden = sizes.hidden;
  spec.layers = sizes.layers;
  ZLLM_TRY(spec.norm_epsilon, config.number_or("rms_norm_eps", kEpsilonRange, 1e-5));
  ZLLM_TRY(spec.max_positions, positions_of(config));
  ZLLM_TRY(spec.tied_embeddings, config.boolean_or("tie_word_embeddings", false));
  ZLLM_TRY(spec.is_linear, linear_layers_from_config(config, kDelta, spec.layers));
  ZLLM_TRY(spec.delta, delta_from_config(config, kDelta));
  spec.gate_rank = spec.delta.value_width;
  ZLLM_TRY(spec.attention, latent_attention_from_config(config, 1.0));
  ZLLM_TRY(spec.mixture, mixture_from_config(config, kMixture, spec.layers));
  return spec;
}

}  // namespace zllm::weight
