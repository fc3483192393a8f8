#include <string>
#include <utility>

#include <zllm/base/text.h>
#include <zllm/weight/assembly/delta_attention.h>

namespace zllm::weight {
namespace {

using attention::delta_rule::DecayGate;
using attention::delta_rule::Spec;

constexpr std::string_view kObject = "linear_attn_config";
constexpr std::string_view kLinearType = "linear_attention";
constexpr IntegerRange kTapsRange{1, 64};             // 16 times the most known
constexpr NumberRange kLowerBoundRange{-1e4, -1e-6};  // of a logarithm; known is -5
constexpr std::uint64_t kDefaultTaps = 4;

using Inner = std::optional<ConfigReader>;

// An integer that may stand at the top or in linear_attn_config under another name.
Result<std::optional<std::uint64_t>> integer(const ConfigReader& config, const Inner& inner,
                                             std::pair<std::string_view, std::string_view> names,
                                             IntegerRange range) {
  ZLLM_TRY(const auto outer, config.integer(names.first, range));
  if (!inner) {
    return outer;
  }
  ZLLM_TRY(const auto stated, inner->integer(names.second, range));
  if (outer && stated && *outer != *stated) {
    return inner->error(Code::invalid_file, names.second,
                        concat(*stated, " contradicts ", names.first, " ", *outer));
  }
  return stated ? stated : outer;
}

Result<std::uint32_t> required(const ConfigReader& config, const Inner& inner,
                               std::pair<std::string_view, std::string_view> names,
                               IntegerRange range) {
  ZLLM_TRY(const auto value, integer(config, inner, names, range));
  if (!value) {
    return config.error(Code::invalid_file, names.first,
                        concat("is missing, and so is ", kObject, ".", names.second));
  }
  return static_cast<std::uint32_t>(*value);
}

// What the configuration says of the gate's bound, before defaults.
struct StatedBound {
  std::optional<double> value;
  bool is_null = false;  // said to be none
  std::optional<bool> is_safe;
};

Result<StatedBound> stated_bound(const ConfigReader& config, const Inner& inner) {
  StatedBound bound;
  ZLLM_TRY(bound.value, config.number("linear_lower_bound", kLowerBoundRange));
  bound.is_null = config.states_null("linear_lower_bound");
  if (!inner) {
    return bound;
  }
  for (const std::string_view key : {"gate_lower_bound", "lower_bound"}) {
    ZLLM_TRY(const auto stated, inner->number(key, kLowerBoundRange));
    if (stated && bound.value && *stated != *bound.value) {
      return inner->error(Code::invalid_file, key,
                          concat(*stated, " contradicts the ", *bound.value, " stated beside it"));
    }
    bound.value = stated ? stated : bound.value;
    bound.is_null = bound.is_null || inner->states_null(key);
  }
  if (inner->has("safe_gate")) {
    ZLLM_TRY(bound.is_safe, inner->boolean_or("safe_gate", true));
  }
  return bound;
}

Status read_gate(const ConfigReader& config, const Inner& inner, const DeltaKeys& keys,
                 Spec& spec) {
  ZLLM_TRY(const StatedBound bound, stated_bound(config, inner));
  if (!keys.lower_bound) {
    if (bound.value || bound.is_safe.value_or(false)) {
      const std::string_view key =
          config.has("linear_lower_bound") ? "linear_lower_bound" : kObject;
      return config.error(Code::unsupported, key,
                          "bounds the decay gate, which this model type does not do");
    }
    return {};
  }
  if (bound.is_safe && !*bound.is_safe && (bound.value || !bound.is_null)) {
    return inner->error(Code::invalid_file, "safe_gate",
                        "is false, but the lower bound is not null");
  }
  // As in transformers, an object that does not deny the safe gate overrules a bound of null.
  const bool is_off = bound.is_safe ? !*bound.is_safe : bound.is_null && !inner;
  if (is_off && !bound.value) {
    return {};
  }
  spec.decay_gate = DecayGate::bounded;
  spec.lower_bound = static_cast<float>(bound.value.value_or(*keys.lower_bound));
  return {};
}

Result<std::optional<std::vector<bool>>> layers_of_types(const ConfigReader& config,
                                                         const DeltaKeys& keys,
                                                         std::uint32_t layers) {
  ZLLM_TRY(const auto types, config.strings("layer_types"));
  if (!types) {
    return std::optional<std::vector<bool>>();
  }
  if (types->size() != layers) {
    return config.error(
        Code::invalid_file, "layer_types",
        concat("must have one entry for each of ", layers, " layers, found ", types->size()));
  }
  std::vector<bool> is_linear;
  for (const std::string_view type : *types) {
    if (type != kLinearType && type != keys.other_type && type != "full_attention") {
      return config.error(
          Code::unsupported, "layer_types",
          concat(quote(type), " is not supported, only ", kLinearType, " and ", keys.other_type));
    }
    is_linear.push_back(type == kLinearType);
  }
  return std::optional(std::move(is_linear));
}

Result<std::optional<std::vector<bool>>> layers_of_lists(const Inner& inner, std::uint32_t layers) {
  constexpr std::string_view kLinear = "kda_layers";
  constexpr std::string_view kFull = "full_attn_layers";
  if (!inner || (!inner->has(kLinear) && !inner->has(kFull))) {
    return std::optional<std::vector<bool>>();
  }
  std::vector<int> kinds(layers, -1);
  for (const auto& [key, kind] : {std::pair(kLinear, 1), std::pair(kFull, 0)}) {
    ZLLM_TRY(const auto numbers, inner->integers(key, {.minimum = 1, .maximum = layers}));
    for (const std::uint64_t number : numbers.value_or(std::vector<std::uint64_t>())) {
      if (kinds[number - 1] != -1) {
        return inner->error(Code::invalid_file, key,
                            concat("has layer ", number, ", which is told already"));
      }
      kinds[number - 1] = kind;
    }
  }
  std::vector<bool> is_linear;
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    if (kinds[layer] == -1) {
      return inner->error(
          Code::invalid_file, kLinear,
          concat("lacks layer ", layer + 1, ", and so does ", kFull, " (layers count from 1)"));
    }
    is_linear.push_back(kinds[layer] == 1);
  }
  return std::optional(std::move(is_linear));
}

}  // namespace

Result<Spec> delta_from_config(const ConfigReader& config, const DeltaKeys& keys) {
  ZLLM_TRY(const Inner inner, config.object(kObject));
  Spec spec;
  ZLLM_TRY(spec.key_heads,
           required(config, inner, {"linear_num_heads", "num_heads"}, kHeadCountRange));
  ZLLM_TRY(spec.key_width,
           required(config, inner, {"linear_head_dim", "head_dim"}, kHeadWidthRange));
  ZLLM_TRY(
      const auto taps,
      integer(config, inner, {"linear_conv_kernel_dim", "short_conv_kernel_size"}, kTapsRange));
  spec.value_heads = spec.key_heads;
  spec.value_width = spec.key_width;
  spec.taps = static_cast<std::uint32_t>(taps.value_or(kDefaultTaps));
  ZLLM_TRY(read_gate(config, inner, keys, spec));
  return spec;
}

Result<std::vector<bool>> linear_layers_from_config(const ConfigReader& config,
                                                    const DeltaKeys& keys, std::uint32_t layers) {
  ZLLM_TRY(const Inner inner, config.object(kObject));
  ZLLM_TRY(const auto types, layers_of_types(config, keys, layers));
  std::optional<std::vector<bool>> lists;
  if (keys.has_lists) {
    ZLLM_TRY(lists, layers_of_lists(inner, layers));
  }
  if (types && lists && *types != *lists) {
    return config.error(Code::invalid_file, "layer_types",
                        concat("contradicts ", kObject, ".kda_layers"));
  }
  if (types || lists) {
    return types ? *types : *lists;
  }
  if (keys.period == 0) {
    return config.error(Code::invalid_file, "layer_types",
                        concat("is missing, and so is ", kObject, ".kda_layers"));
  }
  std::vector<bool> is_linear;
  is_linear.reserve(layers);
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    is_linear.push_back((layer + 1) % keys.period != 0);
  }
  return is_linear;
}

}  // namespace zllm::weight
