#include <zllm/weight/assembly/mixture.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include <zllm/base/text.h>

namespace zllm::weight {
namespace {

using Spellings = std::span<const std::string_view>;

constexpr std::array<std::string_view, 3> kExperts = {"n_routed_experts", "num_experts",
                                                      "num_local_experts"};
constexpr std::array<std::string_view, 2> kChosen = {"num_experts_per_tok",
                                                     "num_experts_per_token"};
constexpr std::array<std::string_view, 2> kGroups = {"n_group", "num_expert_group"};
constexpr std::array<std::string_view, 1> kKeptGroups = {"topk_group"};
constexpr std::array<std::string_view, 2> kShared = {"n_shared_experts", "num_shared_experts"};
constexpr std::array<std::string_view, 2> kNormalise = {"norm_topk_prob", "moe_renormalize"};
constexpr std::array<std::string_view, 2> kScoring = {"scoring_func", "moe_router_activation_func"};
constexpr IntegerRange kDenseLayerRange{0, kLayerRange.maximum};

// The value that `read` finds under any of the spellings; those stated must agree.
template <class T, class Read>
Result<std::optional<T>> any_of(const ConfigReader& config, Spellings spellings, const Read& read) {
  std::optional<T> value;
  std::string_view first;
  for (const std::string_view key : spellings) {
    ZLLM_TRY(const std::optional<T> stated, read(key));
    if (stated && value && *stated != *value) {
      return config.error(Code::invalid_file, key,
                          concat(*stated, " contradicts ", first, " ", *value));
    }
    if (stated && !value) {
      value = stated;
      first = key;
    }
  }
  return value;
}

Result<std::optional<std::uint64_t>> integer(const ConfigReader& config, Spellings spellings,
                                             IntegerRange range) {
  return any_of<std::uint64_t>(config, spellings,
                               [&](std::string_view key) { return config.integer(key, range); });
}

Result<std::uint32_t> required(const ConfigReader& config, Spellings spellings,
                               IntegerRange range) {
  ZLLM_TRY(const auto value, integer(config, spellings, range));
  if (!value) {
    return config.error(Code::invalid_file, spellings.front(), "is missing");
  }
  return static_cast<std::uint32_t>(*value);
}

Result<bool> normalises(const ConfigReader& config, bool fallback) {
  using Found = Result<std::optional<std::uint64_t>>;
  ZLLM_TRY(const auto value,
           any_of<std::uint64_t>(config, kNormalise, [&](std::string_view key) -> Found {
             if (!config.has(key)) {
               return std::optional<std::uint64_t>();
             }
             ZLLM_TRY(const bool stated, config.boolean_or(key, false));
             return std::optional<std::uint64_t>(stated ? 1 : 0);
           }));
  return value.value_or(fallback ? 1 : 0) != 0;
}

Result<moe::Scoring> scoring_of(const ConfigReader& config, moe::Scoring fallback) {
  ZLLM_TRY(const auto name, any_of<std::string_view>(config, kScoring, [&](std::string_view key) {
             return config.string(key);
           }));
  if (!name) {
    return fallback;
  }
  if (*name == "sigmoid") {
    return moe::Scoring::sigmoid;
  }
  if (*name == "softmax") {
    return moe::Scoring::softmax;
  }
  return config.error(Code::unsupported, config.has(kScoring[0]) ? kScoring[0] : kScoring[1],
                      concat(quote(*name), " is not supported, only sigmoid and softmax"));
}

Result<bool> has_selection_bias(const ConfigReader& config, bool fallback) {
  ZLLM_TRY(const auto method, config.string("topk_method"));
  if (!method) {
    return fallback;
  }
  if (*method != "noaux_tc" && *method != "greedy") {
    return config.error(Code::unsupported, "topk_method",
                        concat(quote(*method), " is not supported, only noaux_tc and greedy"));
  }
  return *method == "noaux_tc";
}

Status read_router(const ConfigReader& config, const MixtureKeys& keys, moe::RouterSpec& router) {
  ZLLM_TRY(router.experts, required(config, kExperts, kExpertCountRange));
  ZLLM_TRY(router.top_k, required(config, kChosen, kExpertCountRange));
  ZLLM_TRY(const auto groups, integer(config, kGroups, kExpertCountRange));
  ZLLM_TRY(const auto kept, integer(config, kKeptGroups, kExpertCountRange));
  router.groups = static_cast<std::uint32_t>(groups.value_or(1));
  router.kept_groups = static_cast<std::uint32_t>(kept.value_or(1));
  ZLLM_TRY(router.scoring, scoring_of(config, keys.scoring));
  ZLLM_TRY(router.has_selection_bias, has_selection_bias(config, keys.selection_bias));
  ZLLM_TRY(router.normalise, normalises(config, keys.normalise));
  ZLLM_TRY(const double scaling,
           config.number_or("routed_scaling_factor", kExpertScalingRange, keys.scaling));
  router.scaling = static_cast<float>(scaling);
  return {};
}

Result<activation::Spec> activation_of(const ConfigReader& config, const MixtureKeys& keys) {
  ZLLM_TRY(const auto name, config.string("hidden_act"));
  if (name && *name != "silu" && *name != "swish") {
    return config.error(Code::unsupported, "hidden_act",
                        concat(quote(*name), " is not supported, only silu"));
  }
  if (keys.swiglu_limit && config.states_null("swiglu_limit")) {
    return config.error(Code::unsupported, "swiglu_limit", "must be a number, found null");
  }
  ZLLM_TRY(const auto stated, config.number("swiglu_limit", kSwigluLimitRange));
  activation::Spec spec;
  if (const auto limit = stated ? stated : keys.swiglu_limit) {
    spec.gate = activation::Gate::clamped_swiglu;
    spec.limit = *limit;
  }
  return spec;
}

Status read_sizes(const ConfigReader& config, const MixtureKeys& keys,
                  model_spec::Mixture& mixture) {
  ZLLM_TRY(const auto dense, config.required_integer("intermediate_size", kIntermediateRange));
  ZLLM_TRY(const auto expert, config.required_integer("moe_intermediate_size", kIntermediateRange));
  ZLLM_TRY(const auto stated, integer(config, kShared, kSharedExpertRange));
  const std::uint64_t shared = stated.value_or(keys.shared_experts) * expert;
  if (shared > kIntermediateRange.maximum) {
    return config.error(Code::invalid_file, config.has(kShared[0]) ? kShared[0] : kShared[1],
                        concat("times moe_intermediate_size is ", shared, ", more than ",
                               kIntermediateRange.maximum));
  }
  mixture.dense_intermediate = static_cast<std::uint32_t>(dense);
  mixture.expert_intermediate = static_cast<std::uint32_t>(expert);
  mixture.shared_intermediate = static_cast<std::uint32_t>(shared);
  if (keys.gated_shared_expert) {
    ZLLM_TRY(const auto gated,
             config.required_integer("shared_expert_intermediate_size", kIntermediateRange));
    mixture.shared_intermediate = static_cast<std::uint32_t>(gated);
    mixture.shared_gate = true;
  }
  return {};
}

Result<std::vector<bool>> sparse_by_step(const ConfigReader& config, std::uint32_t layers) {
  ZLLM_TRY(const auto step, config.integer_or("decoder_sparse_step", kLayerRange, 1));
  ZLLM_TRY(const auto dense,
           config.integers("mlp_only_layers", {.minimum = 0, .maximum = layers - 1}));
  std::vector<bool> is_sparse;
  is_sparse.reserve(layers);
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    is_sparse.push_back((layer + 1) % step == 0);
  }
  for (const std::uint64_t layer : dense.value_or(std::vector<std::uint64_t>())) {
    is_sparse[layer] = false;
  }
  return is_sparse;
}

Result<std::vector<bool>> sparse_after_dense(const ConfigReader& config, const MixtureKeys& keys,
                                             std::uint32_t layers) {
  ZLLM_TRY(const auto dense,
           config.integer_or("first_k_dense_replace", kDenseLayerRange, keys.dense_layers));
  ZLLM_TRY(const auto step, config.integer_or("moe_layer_freq", kLayerRange, 1));
  std::vector<bool> is_sparse;
  is_sparse.reserve(layers);
  for (std::uint32_t layer = 0; layer < layers; ++layer) {
    is_sparse.push_back(layer >= dense && layer % step == 0);
  }
  ZLLM_TRY(const auto types, config.strings("mlp_layer_types"));
  if (!types) {
    return is_sparse;
  }
  if (types->size() != layers) {
    return config.error(
        Code::invalid_file, "mlp_layer_types",
        concat("must have one entry for each of ", layers, " layers, found ", types->size()));
  }
  std::vector<bool> stated;
  for (const std::string_view type : *types) {
    if (type != "dense" && type != "sparse") {
      return config.error(Code::unsupported, "mlp_layer_types",
                          concat(quote(type), " is not supported, only dense and sparse"));
    }
    stated.push_back(type == "sparse");
  }
  // Beside every list transformers writes the default count, which then counts nothing.
  const bool is_default = dense == keys.dense_layers && step == 1;
  for (const std::string_view key : {"first_k_dense_replace", "moe_layer_freq"}) {
    if (config.has(key) && !is_default && stated != is_sparse) {
      return config.error(Code::invalid_file, "mlp_layer_types", concat("contradicts ", key));
    }
  }
  return stated;
}

}  // namespace

std::string mixture_defect(const model_spec::Mixture& mixture) {
  const moe::RouterSpec& router = mixture.router;
  if (router.top_k > router.experts) {
    return concat("chooses ", router.top_k, " of ", router.experts, " experts");
  }
  if (router.experts % router.groups != 0) {
    return concat("has ", router.groups, " groups, which do not divide ", router.experts,
                  " experts");
  }
  if (router.kept_groups > router.groups) {
    return concat("keeps ", router.kept_groups, " of ", router.groups, " groups");
  }
  const std::uint32_t members = router.experts / router.groups;
  if (router.kept_groups < router.groups && members < 2) {
    return "has groups of one expert, but a group is valued by two";
  }
  if (std::uint64_t{router.kept_groups} * members < router.top_k) {
    return concat("chooses ", router.top_k, " experts, but the kept groups have ",
                  std::uint64_t{router.kept_groups} * members);
  }
  return "";
}

Result<model_spec::Mixture> mixture_from_config(const ConfigReader& config, const MixtureKeys& keys,
                                                std::uint32_t layers) {
  model_spec::Mixture mixture;
  ZLLM_TRY(read_router(config, keys, mixture.router));
  ZLLM_TRY(mixture.activation, activation_of(config, keys));
  ZLLM_TRY(read_sizes(config, keys, mixture));
  if (keys.sparse_layers == SparseLayers::by_step) {
    ZLLM_TRY(mixture.is_sparse, sparse_by_step(config, layers));
  } else {
    ZLLM_TRY(mixture.is_sparse, sparse_after_dense(config, keys, layers));
  }
  const std::string defect = mixture_defect(mixture);
  if (!defect.empty()) {
    const moe::RouterSpec& router = mixture.router;
    const Spellings spellings = router.top_k > router.experts        ? Spellings(kChosen)
                                : router.kept_groups > router.groups ? Spellings(kKeptGroups)
                                                                     : Spellings(kGroups);
    const std::string_view key = config.has(spellings.back()) ? spellings.back() : spellings[0];
    return config.error(Code::invalid_file, key, defect);
  }
  return mixture;
}

}  // namespace zllm::weight
