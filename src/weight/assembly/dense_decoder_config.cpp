#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include <zllm/base/text.h>
#include <zllm/weight/assembly/config_reader.h>
#include <zllm/weight/assembly/dense_decoder_spec.h>
#include <zllm/weight/assembly/rope_config.h>

namespace zllm::weight {
namespace {

enum class WindowRule {
  none,            // sliding_window is ignored
  every_layer,     // sliding_window, 4096 when it is absent and none when it is null
  by_layer_types,  // use_sliding_window with layer_types or max_window_layers
};

// What transformers makes of one model type.
struct Family {
  std::string_view model_type;
  std::string_view architecture;
  std::uint64_t default_kv_heads;  // 0: as many as query heads
  std::uint64_t default_head;      // 0: hidden_size / num_attention_heads
  std::uint64_t default_positions;
  WindowRule windows;
  bool always_qkv_bias;
  bool attention_bias_key;  // biases of query, key, value and output
  bool mlp_bias_key;
  bool query_key_norm;
};

constexpr std::array<Family, 4> kFamilies = {{
    {"llama", "LlamaForCausalLM", 0, 0, 2048, WindowRule::none, false, true, true, false},
    {"mistral", "MistralForCausalLM", 8, 0, 131072, WindowRule::every_layer, false, false, false,
     false},
    {"qwen2", "Qwen2ForCausalLM", 32, 0, 32768, WindowRule::by_layer_types, true, false, false,
     false},
    {"qwen3", "Qwen3ForCausalLM", 32, 128, 32768, WindowRule::by_layer_types, false, true, false,
     true},
}};
constexpr std::string_view kSupported = "llama, mistral, qwen2 and qwen3";
constexpr std::uint64_t kDefaultWindow = 4096;
constexpr std::uint64_t kDefaultFullLayers = 28;  // max_window_layers of Qwen2 and Qwen3

Result<const Family *> family_of(const ConfigReader& config) {
  ZLLM_TRY(const auto type, config.string("model_type"));
  ZLLM_TRY(const auto stated, config.strings("architectures"));
  const std::vector<std::string_view> architectures =
      stated ? *stated : std::vector<std::string_view>();
  if (!type && architectures.empty()) {
    return config.error(Code::invalid_file, "model_type", "is missing");
  }
  const std::string_view name = type ? *type : architectures.front();
  const auto *family =
      std::ranges::find(kFamilies, name, type ? &Family::model_type : &Family::architecture);
  if (family == kFamilies.end()) {
    return config.error(
        Code::unsupported, type ? "model_type" : "architectures",
        concat(quote(name), " is not supported; the dense decoder family has ", kSupported));
  }
  if (!architectures.empty() &&
      std::ranges::find(architectures, family->architecture) == architectures.end()) {
    return config.error(Code::unsupported, "architectures",
                        concat(quote(architectures.front()), " is not supported for model type ",
                               family->model_type, ", only ", family->architecture));
  }
  return family;
}

Status refuse_unsupported(const ConfigReader& config) {
  for (const std::string_view key : {"quantization_config", "quantization"}) {
    if (!config.has(key)) {
      continue;
    }
    const Json *method = config.at(key).find("quant_method");
    return config.error(Code::unsupported, key,
                        concat("says that the checkpoint is quantised (",
                               method != nullptr ? describe(*method) : "unknown method",
                               "), which is not supported; use GGUF or an unquantised one"));
  }
  ZLLM_TRY(const auto activation, config.string("hidden_act"));
  if (activation && *activation != "silu" && *activation != "swish") {
    return config.error(Code::unsupported, "hidden_act",
                        concat(quote(*activation), " is not supported, only silu"));
  }
  return {};
}

Status read_heads(const ConfigReader& config, const Family& family,
                  model_spec::DenseDecoder& spec) {
  ZLLM_TRY(const auto heads, config.required_integer("num_attention_heads", kHeadCountRange));
  const std::uint64_t fallback =
      family.default_kv_heads == 0 || config.states_null("num_key_value_heads")
          ? heads
          : family.default_kv_heads;
  ZLLM_TRY(const auto kv_heads,
           config.integer_or("num_key_value_heads", kHeadCountRange, fallback));
  if (heads % kv_heads != 0) {
    return config.error(Code::invalid_file, "num_key_value_heads",
                        concat(kv_heads, " does not divide num_attention_heads ", heads));
  }
  ZLLM_TRY(const auto stated, config.integer("head_dim", kHeadWidthRange));
  if (!stated && family.default_head == 0 && spec.hidden % heads != 0) {
    return config.error(Code::invalid_file, "hidden_size",
                        concat(spec.hidden, " is no multiple of num_attention_heads ", heads,
                               " and there is no head_dim"));
  }
  const std::uint64_t derived =
      family.default_head != 0 ? family.default_head : spec.hidden / heads;
  spec.query_heads = static_cast<std::uint32_t>(heads);
  spec.kv_heads = static_cast<std::uint32_t>(kv_heads);
  spec.head = static_cast<std::uint32_t>(stated.value_or(derived));
  return {};
}

Status read_sizes(const ConfigReader& config, const Family& family,
                  model_spec::DenseDecoder& spec) {
  ZLLM_TRY(const auto vocabulary, config.required_integer("vocab_size", kVocabularyRange));
  ZLLM_TRY(const auto hidden, config.required_integer("hidden_size", kHiddenRange));
  ZLLM_TRY(const auto intermediate,
           config.required_integer("intermediate_size", kIntermediateRange));
  ZLLM_TRY(const auto layers, config.required_integer("num_hidden_layers", kLayerRange));
  spec.vocabulary = static_cast<std::uint32_t>(vocabulary);
  spec.hidden = static_cast<std::uint32_t>(hidden);
  spec.intermediate = static_cast<std::uint32_t>(intermediate);
  spec.layers = static_cast<std::uint32_t>(layers);
  ZLLM_TRY(spec.norm_epsilon, config.number_or("rms_norm_eps", kEpsilonRange, 1e-6));
  ZLLM_TRY(spec.max_positions,
           config.integer_or("max_position_embeddings", kPositionRange, family.default_positions));
  return read_heads(config, family, spec);
}

// sliding_window: absent means transformers' default, null means off.
Result<std::uint32_t> window_of(const ConfigReader& config) {
  const std::uint64_t fallback = config.states_null("sliding_window") ? 0 : kDefaultWindow;
  ZLLM_TRY(const auto window, config.integer_or("sliding_window", kPositionRange, fallback));
  return static_cast<std::uint32_t>(window);
}

// The windows that layer_types spells out, for a window of the sliding layers (0: none is known).
Result<std::vector<std::uint32_t>> windows_of_types(const ConfigReader& config,
                                                    const std::vector<std::string_view>& types,
                                                    std::uint32_t layers, std::uint32_t window) {
  if (types.size() != layers) {
    return config.error(
        Code::invalid_file, "layer_types",
        concat("must have one entry for each of ", layers, " layers, found ", types.size()));
  }
  std::vector<std::uint32_t> windows;
  for (const std::string_view type : types) {
    if (type != "full_attention" && type != "sliding_attention") {
      return config.error(
          Code::unsupported, "layer_types",
          concat(quote(type), " is not supported, only full_attention and sliding_attention"));
    }
    const bool slides = type == "sliding_attention";
    if (slides && window == 0) {
      return config.error(Code::invalid_file, "layer_types",
                          "has sliding_attention, but no sliding window is in use");
    }
    windows.push_back(slides ? window : 0);
  }
  return windows;
}

Status read_windows(const ConfigReader& config, const Family& family,
                    model_spec::DenseDecoder& spec) {
  std::uint32_t window = 0;
  std::uint64_t full_layers = 0;
  if (family.windows == WindowRule::every_layer) {
    ZLLM_TRY(window, window_of(config));
  } else if (family.windows == WindowRule::by_layer_types) {
    ZLLM_TRY(const bool slides, config.boolean_or("use_sliding_window", false));
    ZLLM_TRY(const std::uint32_t stated, window_of(config));
    window = slides ? stated : 0;
    constexpr IntegerRange kFullLayerRange{0, kLayerRange.maximum};
    ZLLM_TRY(full_layers,
             config.integer_or("max_window_layers", kFullLayerRange, kDefaultFullLayers));
  }
  for (std::uint32_t layer = 0; layer < spec.layers; ++layer) {
    spec.windows.push_back(layer < full_layers ? 0 : window);
  }
  ZLLM_TRY(const auto types, config.strings("layer_types"));
  if (!types) {
    return {};
  }
  ZLLM_TRY(auto windows, windows_of_types(config, *types, spec.layers, window));
  if (family.windows != WindowRule::by_layer_types && windows != spec.windows) {
    return config.error(
        Code::unsupported, "layer_types",
        concat("mixes kinds of layers, which model type ", family.model_type, " does not have"));
  }
  spec.windows = std::move(windows);
  return {};
}

Status read_flags(const ConfigReader& config, const Family& family,
                  model_spec::DenseDecoder& spec) {
  ZLLM_TRY(const bool attention_bias, config.boolean_or("attention_bias", false));
  ZLLM_TRY(const bool mlp_bias, config.boolean_or("mlp_bias", false));
  const bool uses_attention_bias = family.attention_bias_key && attention_bias;
  spec.qkv_bias = family.always_qkv_bias || uses_attention_bias;
  spec.output_bias = uses_attention_bias;
  spec.mlp_bias = family.mlp_bias_key && mlp_bias;
  spec.query_key_norm = family.query_key_norm;
  ZLLM_TRY(spec.tied_embeddings, config.boolean_or("tie_word_embeddings", false));
  return {};
}

}  // namespace

Result<model_spec::DenseDecoder> dense_decoder_from_config(const Json& json,
                                                           std::vector<std::string>& warnings) {
  ZLLM_TRY(const auto config, ConfigReader::open(json, "config.json"));
  ZLLM_TRY(const Family *family, family_of(config));
  ZLLM_TRY(refuse_unsupported(config));
  model_spec::DenseDecoder spec;
  spec.architecture = std::string(family->model_type);
  ZLLM_TRY(read_sizes(config, *family, spec));
  ZLLM_TRY(read_flags(config, *family, spec));
  ZLLM_TRY(read_windows(config, *family, spec));
  const RopeContext context{.head = spec.head, .max_positions = spec.max_positions};
  ZLLM_TRY(spec.rope, rope_from_config(config, context, warnings));
  if (spec.rope.rotated != spec.head) {
    return config.error(
        Code::unsupported, "partial_rotary_factor",
        concat("leaves lanes unturned, which model type ", family->model_type, " does not have"));
  }
  return spec;
}

}  // namespace zllm::weight
