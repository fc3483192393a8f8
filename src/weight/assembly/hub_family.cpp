#include <zllm/weight/assembly/hub_family.h>

#include <algorithm>
#include <utility>

#include <zllm/base/text.h>

namespace zllm::weight {
namespace {

std::string list_of(std::span<const HubFamily> families) {
  std::string text;
  for (const HubFamily& family : families) {
    text += concat(text.empty() ? "" : ", ", family.model_type);
  }
  return text;
}

}  // namespace

Result<std::size_t> hub_family_of(const ConfigReader& config, std::span<const HubFamily> families) {
  ZLLM_TRY(const auto type, config.string("model_type"));
  ZLLM_TRY(const auto stated, config.strings("architectures"));
  const std::vector<std::string_view> architectures =
      stated ? *stated : std::vector<std::string_view>();
  if (!type && architectures.empty()) {
    return config.error(Code::invalid_file, "model_type", "is missing");
  }
  const std::string_view name = type ? *type : architectures.front();
  const auto family =
      std::ranges::find(families, name, type ? &HubFamily::model_type : &HubFamily::architecture);
  if (family == families.end()) {
    return config.error(
        Code::unsupported, type ? "model_type" : "architectures",
        concat(quote(name), " is not supported; this family has ", list_of(families)));
  }
  if (!family->architecture.empty() && !architectures.empty() &&
      std::ranges::find(architectures, family->architecture) == architectures.end()) {
    return config.error(Code::unsupported, "architectures",
                        concat(quote(architectures.front()), " is not supported for model type ",
                               family->model_type, ", only ", family->architecture));
  }
  return static_cast<std::size_t>(family - families.begin());
}

Status refuse_quantised(const ConfigReader& config) {
  for (const std::string_view key : {"quantization_config", "quantization"}) {
    if (!config.has(key)) {
      continue;
    }
    const Json *method = config.at(key).find("quant_method");
    return config.error(
        Code::unsupported, method != nullptr ? concat(key, ".quant_method") : std::string(key),
        concat(method != nullptr ? describe(*method) : "without quant_method",
               " says that the checkpoint is quantised, which is not supported; use GGUF or an "
               "unquantised one"));
  }
  return {};
}

Result<HubSizes> hub_sizes(const ConfigReader& config) {
  ZLLM_TRY(const auto vocabulary, config.required_integer("vocab_size", kVocabularyRange));
  ZLLM_TRY(const auto hidden, config.required_integer("hidden_size", kHiddenRange));
  ZLLM_TRY(const auto layers, config.required_integer("num_hidden_layers", kLayerRange));
  return HubSizes{.vocabulary = static_cast<std::uint32_t>(vocabulary),
                  .hidden = static_cast<std::uint32_t>(hidden),
                  .layers = static_cast<std::uint32_t>(layers)};
}

Status check_layer_types(const ConfigReader& config, std::string_view only, std::uint64_t layers) {
  ZLLM_TRY(const auto types, config.strings("layer_types"));
  if (!types) {
    return {};
  }
  for (const std::string_view type : *types) {
    if (type != only) {
      return config.error(
          Code::unsupported, "layer_types",
          concat(quote(type), " is not supported for this model type, only ", only));
    }
  }
  if (types->size() != layers) {
    return config.error(
        Code::invalid_file, "layer_types",
        concat("must have one entry for each of ", layers, " layers, found ", types->size()));
  }
  return {};
}

Result<std::vector<std::string>> draft_layer_prefixes(const ConfigReader& config,
                                                      std::string_view layers_prefix,
                                                      std::uint32_t layers) {
  ZLLM_TRY(const auto stated, config.integer("num_nextn_predict_layers", kDraftLayerRange));
  ZLLM_TRY(const auto other, config.integer_or("num_mtp_layers", kDraftLayerRange, 1));
  std::vector<std::string> prefixes;
  prefixes.reserve(stated.value_or(other));
  for (std::uint64_t i = 0; i < stated.value_or(other); ++i) {
    prefixes.push_back(concat(layers_prefix, layers + i, "."));
  }
  return prefixes;
}

std::function<bool(std::string_view)> begins_with_any(std::vector<std::string> prefixes) {
  return [prefixes = std::move(prefixes)](std::string_view name) {
    return std::ranges::any_of(prefixes,
                               [&](const std::string& prefix) { return name.starts_with(prefix); });
  };
}

}  // namespace zllm::weight
