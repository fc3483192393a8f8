#include <array>
#include <string_view>

#include <zllm/base/text.h>
#include <zllm/weight/assembly/config_reader.h>
#include <zllm/weight/assembly/gqa_moe_spec.h>
#include <zllm/weight/assembly/hub_family.h>
#include <zllm/weight/assembly/mixture.h>
#include <zllm/weight/assembly/rope_config.h>

namespace zllm::weight {
namespace {

constexpr std::array<HubFamily, 3> kFamilies = {{
    {"qwen2_moe", "Qwen2MoeForCausalLM"},
    {"qwen3_moe", "Qwen3MoeForCausalLM"},
    {"glm4_moe", "Glm4MoeForCausalLM"},
}};

enum class HeadNorms { never, always, by_key };         // use_qk_norm tells
enum class Windows { none, every_layer, some_layers };  // with use_sliding_window

// What transformers makes of one model type.
struct Rules {
  std::uint64_t kv_heads;
  std::uint64_t positions;
  double norm_epsilon;
  double partial_rotary;
  HeadNorms head_norms;
  std::string_view bias_key;  // of queries, keys and values
  bool bias;                  // where the key is missing
  bool output_bias;           // the key gives the output one too
  Windows windows;
  MixtureKeys mixture;
};

constexpr std::array<Rules, 3> kRules = {{
    {.kv_heads = 16,
     .positions = 32768,
     .norm_epsilon = 1e-6,
     .partial_rotary = 1.0,
     .head_norms = HeadNorms::never,
     .bias_key = "qkv_bias",
     .bias = true,
     .output_bias = false,
     .windows = Windows::some_layers,
     .mixture = {.sparse_layers = SparseLayers::by_step,
                 .dense_layers = 0,
                 .scoring = moe::Scoring::softmax,
                 .selection_bias = false,
                 .normalise = false,
                 .scaling = 1.0,
                 .shared_experts = 0,
                 .gated_shared_expert = true,
                 .swiglu_limit = {}}},
    {.kv_heads = 4,
     .positions = 32768,
     .norm_epsilon = 1e-6,
     .partial_rotary = 1.0,
     .head_norms = HeadNorms::always,
     .bias_key = "attention_bias",
     .bias = false,
     .output_bias = true,
     .windows = Windows::every_layer,
     .mixture = {.sparse_layers = SparseLayers::by_step,
                 .dense_layers = 0,
                 .scoring = moe::Scoring::softmax,
                 .selection_bias = false,
                 .normalise = false,
                 .scaling = 1.0,
                 .shared_experts = 0,
                 .swiglu_limit = {}}},
    {.kv_heads = 8,
     .positions = 131072,
     .norm_epsilon = 1e-5,
     .partial_rotary = 0.5,
     .head_norms = HeadNorms::by_key,
     .bias_key = "attention_bias",
     .bias = false,
     .output_bias = false,
     .windows = Windows::none,
     .mixture = {.sparse_layers = SparseLayers::after_dense,
                 .dense_layers = 1,
                 .scoring = moe::Scoring::sigmoid,
                 .selection_bias = true,
                 .normalise = true,
                 .scaling = 1.0,
                 .shared_experts = 1,
                 .swiglu_limit = {}}},
}};
constexpr std::uint64_t kDefaultWindow = 4096;

Status read_heads(const ConfigReader& config, const Rules& rules, model_spec::GqaMoe& spec) {
  ZLLM_TRY(const auto heads, config.required_integer("num_attention_heads", kHeadCountRange));
  const std::uint64_t fallback = config.states_null("num_key_value_heads") ? heads : rules.kv_heads;
  ZLLM_TRY(const auto kv_heads,
           config.integer_or("num_key_value_heads", kHeadCountRange, fallback));
  if (heads % kv_heads != 0) {
    return config.error(Code::invalid_file, "num_key_value_heads",
                        concat(kv_heads, " does not divide num_attention_heads ", heads));
  }
  ZLLM_TRY(const auto head, config.integer("head_dim", kHeadWidthRange));
  if (!head && spec.hidden % heads != 0) {
    return config.error(Code::invalid_file, "hidden_size",
                        concat(spec.hidden, " is no multiple of num_attention_heads ", heads,
                               " and there is no head_dim"));
  }
  spec.query_heads = static_cast<std::uint32_t>(heads);
  spec.kv_heads = static_cast<std::uint32_t>(kv_heads);
  spec.head = static_cast<std::uint32_t>(head.value_or(spec.hidden / heads));
  return {};
}

// A window of every layer. max_window_layers has no effect in this family.
Status read_window(const ConfigReader& config, const Rules& rules, model_spec::GqaMoe& spec) {
  if (rules.windows == Windows::none) {
    return {};
  }
  ZLLM_TRY(const bool slides, config.boolean_or("use_sliding_window", false));
  if (!slides) {
    return {};
  }
  if (rules.windows == Windows::some_layers) {
    return config.error(Code::unsupported, "use_sliding_window",
                        "true is not supported: windows of some layers alone");
  }
  const std::uint64_t fallback = config.states_null("sliding_window") ? 0 : kDefaultWindow;
  ZLLM_TRY(const auto window, config.integer_or("sliding_window", kPositionRange, fallback));
  spec.window = static_cast<std::uint32_t>(window);
  return {};
}

Status read_flags(const ConfigReader& config, const Rules& rules, model_spec::GqaMoe& spec) {
  ZLLM_TRY(spec.qkv_bias, config.boolean_or(rules.bias_key, rules.bias));
  spec.output_bias = rules.output_bias && spec.qkv_bias;
  ZLLM_TRY(const bool stated, config.boolean_or("use_qk_norm", false));
  spec.query_key_norm =
      rules.head_norms == HeadNorms::always || (rules.head_norms == HeadNorms::by_key && stated);
  ZLLM_TRY(spec.tied_embeddings, config.boolean_or("tie_word_embeddings", false));
  return {};
}

}  // namespace

Result<model_spec::GqaMoe> gqa_moe_from_config(const Json& json,
                                               std::vector<std::string>& warnings) {
  ZLLM_TRY(const auto config, ConfigReader::open(json, "config.json"));
  ZLLM_TRY(const std::size_t family, hub_family_of(config, kFamilies));
  ZLLM_TRY(refuse_quantised(config));
  const Rules& rules = kRules[family];
  model_spec::GqaMoe spec;
  spec.architecture = std::string(kFamilies[family].model_type);
  ZLLM_TRY(const HubSizes sizes, hub_sizes(config));
  spec.vocabulary = sizes.vocabulary;
  spec.hidden = sizes.hidden;
  spec.layers = sizes.layers;
  ZLLM_TRY(spec.norm_epsilon, config.number_or("rms_norm_eps", kEpsilonRange, rules.norm_epsilon));
  ZLLM_TRY(spec.max_positions,
           config.integer_or("max_position_embeddings", kPositionRange, rules.positions));
  ZLLM_TRY(read_heads(config, rules, spec));
  ZLLM_TRY(read_window(config, rules, spec));
  ZLLM_TRY(check_layer_types(config, "full_attention", sizes.layers));
  ZLLM_TRY(read_flags(config, rules, spec));
  ZLLM_TRY(spec.mixture, mixture_from_config(config, rules.mixture, spec.layers));
  const RopeContext context{
      .head = spec.head, .max_positions = spec.max_positions, .partial = rules.partial_rotary};
  ZLLM_TRY(spec.rope, rope_from_config(config, context, warnings));
  return spec;
}

}  // namespace zllm::weight
