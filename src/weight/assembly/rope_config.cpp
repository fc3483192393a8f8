#include <zllm/weight/assembly/rope_config.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>

#include <zllm/base/text.h>
#include <zllm/rope/reference.h>

namespace zllm::weight {
namespace {

using rope::Scaling;

constexpr NumberRange kPartialRange{1e-6, 1.0};
constexpr NumberRange kBetaRange{0.0, 1e6};  // rotations; 0 stands for the default
constexpr NumberRange kMscaleRange{0.0, 1e3};

struct ScalingType {
  std::string_view name;
  Scaling scaling;
  std::span<const std::string_view> keys;  // beside those of every type
};

constexpr std::array<std::string_view, 5> kCommonKeys = {
    "rope_theta", "rope_type", "type", "partial_rotary_factor", "original_max_position_embeddings"};
constexpr std::array<std::string_view, 1> kFactorKeys = {"factor"};
constexpr std::array<std::string_view, 3> kLlama3Keys = {"factor", "low_freq_factor",
                                                         "high_freq_factor"};
constexpr std::array<std::string_view, 7> kYarnKeys = {
    "factor", "attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim", "truncate"};
constexpr std::array<std::string_view, 4> kLongropeKeys = {"factor", "attention_factor",
                                                           "short_factor", "long_factor"};
constexpr std::array<ScalingType, 6> kScalingTypes = {{
    {"default", Scaling::none, {}},
    {"linear", Scaling::linear, kFactorKeys},
    {"dynamic", Scaling::dynamic, kFactorKeys},
    {"llama3", Scaling::llama3, kLlama3Keys},
    {"yarn", Scaling::yarn, kYarnKeys},
    {"longrope", Scaling::longrope, kLongropeKeys},
}};

// The object that holds the parameters, under either spelling; nothing when there is none.
Result<std::optional<ConfigReader>> parameters_of(const ConfigReader& config) {
  ZLLM_TRY(auto current, config.object("rope_parameters"));
  ZLLM_TRY(auto former, config.object("rope_scaling"));
  if (current && former && !current->members().empty() && !former->members().empty() &&
      config.at("rope_parameters").dump() != config.at("rope_scaling").dump()) {
    return config.error(Code::invalid_file, "rope_parameters", "contradicts rope_scaling");
  }
  if (current && !current->members().empty()) {
    return current;
  }
  if (former && !former->members().empty()) {
    return former;
  }
  return std::optional<ConfigReader>();
}

Result<const ScalingType *> type_of(const ConfigReader& parameters) {
  ZLLM_TRY(const auto current, parameters.string("rope_type"));
  ZLLM_TRY(const auto former, parameters.string("type"));
  if (current && former && *current != *former) {
    return parameters.error(Code::invalid_file, "rope_type",
                            concat(quote(*current), " contradicts type ", quote(*former)));
  }
  const std::string_view name = current ? *current : former.value_or("default");
  for (const ScalingType& type : kScalingTypes) {
    if (type.name == name) {
      return &type;
    }
  }
  return parameters.error(
      Code::unsupported, current ? "rope_type" : "type",
      concat(quote(name),
             " is not supported; known are default, linear, dynamic, llama3, yarn "
             "and longrope"));
}

// A number that may stand in the parameters or at the top of the configuration.
Result<std::optional<double>> number_in_either(const ConfigReader& config,
                                               const ConfigReader& parameters, std::string_view key,
                                               NumberRange range) {
  ZLLM_TRY(const auto outer, config.number(key, range));
  ZLLM_TRY(const auto inner, parameters.number(key, range));
  if (outer && inner && *outer != *inner) {
    return parameters.error(Code::invalid_file, key,
                            concat(*inner, " contradicts the ", *outer, " outside"));
  }
  return inner ? inner : outer;
}

Result<std::optional<std::uint64_t>> original_positions(const ConfigReader& config,
                                                        const ConfigReader& parameters) {
  constexpr std::string_view kKey = "original_max_position_embeddings";
  ZLLM_TRY(const auto outer, config.integer(kKey, kPositionRange));
  ZLLM_TRY(const auto inner, parameters.integer(kKey, kPositionRange));
  if (outer && inner && *outer != *inner) {
    return parameters.error(Code::invalid_file, kKey,
                            concat(*inner, " contradicts the ", *outer, " outside"));
  }
  return inner ? inner : outer;
}

void warn_of_unused(const ConfigReader& parameters, const ScalingType& type,
                    std::vector<std::string>& warnings) {
  for (const auto& [key, value] : parameters.members()) {
    const auto is_key = [&](std::string_view known) { return known == key; };
    if (!std::ranges::any_of(kCommonKeys, is_key) && !std::ranges::any_of(type.keys, is_key)) {
      warnings.push_back(
          parameters
              .error(Code::invalid_file, quote(key), concat("is not used by rope type ", type.name))
              .message);
    }
  }
}

Status read_llama3(const ConfigReader& parameters, rope::Spec& spec) {
  ZLLM_TRY(spec.factor, parameters.required_number("factor", kRopeFactorRange));
  ZLLM_TRY(spec.low_frequency_factor,
           parameters.required_number("low_freq_factor", kRopeFactorRange));
  ZLLM_TRY(spec.high_frequency_factor,
           parameters.required_number("high_freq_factor", kRopeFactorRange));
  if (spec.high_frequency_factor <= spec.low_frequency_factor) {
    return parameters.error(Code::invalid_file, "high_freq_factor",
                            concat("must be above low_freq_factor ", spec.low_frequency_factor,
                                   ", found ", spec.high_frequency_factor));
  }
  return {};
}

Status read_yarn(const ConfigReader& parameters, rope::Spec& spec) {
  ZLLM_TRY(spec.factor, parameters.required_number("factor", kRopeFactorRange));
  ZLLM_TRY(const double fast, parameters.number_or("beta_fast", kBetaRange, 0));
  ZLLM_TRY(const double slow, parameters.number_or("beta_slow", kBetaRange, 0));
  spec.beta_fast = fast == 0 ? spec.beta_fast : fast;
  spec.beta_slow = slow == 0 ? spec.beta_slow : slow;
  if (spec.beta_fast < spec.beta_slow) {
    return parameters.error(Code::invalid_file, "beta_fast",
                            concat(spec.beta_fast, " is below beta_slow ", spec.beta_slow));
  }
  ZLLM_TRY(const double mscale, parameters.number_or("mscale", kMscaleRange, 0));
  ZLLM_TRY(const double all_dim, parameters.number_or("mscale_all_dim", kMscaleRange, 0));
  if (mscale != 0 && all_dim != 0) {  // transformers looks at neither unless both are given
    spec.mscale = mscale;
    spec.mscale_all_dim = all_dim;
  }
  ZLLM_TRY(spec.attention_factor, parameters.number("attention_factor", kAmplitudeRange));
  ZLLM_TRY(spec.truncate, parameters.boolean_or("truncate", true));
  return {};
}

Status read_longrope(const ConfigReader& parameters, rope::Spec& spec) {
  const std::size_t frequencies = spec.rotated / 2;
  for (const auto& [key, factors] : {std::pair("short_factor", &spec.short_factors),
                                     std::pair("long_factor", &spec.long_factors)}) {
    ZLLM_TRY(auto numbers, parameters.numbers(key, frequencies, kFrequencyDivisorRange));
    if (!numbers) {
      return parameters.error(Code::invalid_file, key, "is missing");
    }
    *factors = std::move(*numbers);
  }
  const double ratio =
      static_cast<double>(spec.max_positions) / static_cast<double>(spec.original_positions);
  ZLLM_TRY(spec.factor, parameters.number_or("factor", kRopeFactorRange, ratio));
  ZLLM_TRY(spec.attention_factor, parameters.number("attention_factor", kAmplitudeRange));
  return {};
}

Status read_scaling(const ConfigReader& config, const ConfigReader& parameters, rope::Spec& spec) {
  ZLLM_TRY(const auto original, original_positions(config, parameters));
  switch (spec.scaling) {
    case Scaling::none:
      return {};
    case Scaling::linear:
    case Scaling::dynamic: {
      ZLLM_TRY(spec.factor, parameters.required_number("factor", kRopeFactorRange));
      return {};
    }
    case Scaling::llama3:
      if (!original) {
        return parameters.error(Code::invalid_file, "original_max_position_embeddings",
                                "is missing");
      }
      spec.original_positions = *original;
      return read_llama3(parameters, spec);
    case Scaling::yarn:
      spec.original_positions = original.value_or(spec.max_positions);
      return read_yarn(parameters, spec);
    case Scaling::longrope:
      spec.original_positions = original.value_or(spec.max_positions);
      return read_longrope(parameters, spec);
  }
  return {};
}

Result<rope::Spec> read_parameters(const ConfigReader& config, const ConfigReader& parameters,
                                   RopeContext context, std::vector<std::string>& warnings) {
  for (const auto& [key, value] : parameters.members()) {
    if (value.as_object() != nullptr) {
      return parameters.error(Code::unsupported, quote(key),
                              "gives one kind of layer its own rope, which is not supported here");
    }
  }
  rope::Spec spec;
  spec.max_positions = context.max_positions;
  ZLLM_TRY(const ScalingType *type, type_of(parameters));
  spec.scaling = type->scaling;
  ZLLM_TRY(const auto theta, number_in_either(config, parameters, "rope_theta", kThetaRange));
  spec.theta = theta.value_or(spec.theta);
  ZLLM_TRY(const auto partial,
           number_in_either(config, parameters, "partial_rotary_factor", kPartialRange));
  spec.rotated = static_cast<std::uint32_t>(context.head * partial.value_or(context.partial));
  ZLLM_TRY(read_scaling(config, parameters, spec));
  warn_of_unused(parameters, *type, warnings);
  return spec;
}

}  // namespace

double score_factor(double factor, double mscale_all_dim) {
  const double amplitude = factor <= 1.0 ? 1.0 : 1.0 + 0.1 * mscale_all_dim * std::log(factor);
  return amplitude * amplitude;
}

Result<double> score_factor_from_config(const ConfigReader& config) {
  ZLLM_TRY(const auto parameters, parameters_of(config));
  if (!parameters) {
    return 1.0;
  }
  ZLLM_TRY(const ScalingType *type, type_of(*parameters));
  ZLLM_TRY(const double all_dim, parameters->number_or("mscale_all_dim", kMscaleRange, 0));
  if (type->scaling == Scaling::none || all_dim == 0) {
    return 1.0;
  }
  ZLLM_TRY(const double factor, parameters->required_number("factor", kRopeFactorRange));
  return score_factor(factor, all_dim);
}

std::string rope_defect(const rope::Spec& spec, std::uint32_t head) {
  if (spec.rotated < 2 || spec.rotated % 2 != 0 || spec.rotated > head) {
    return concat("turns ", spec.rotated, " lanes of heads of ", head,
                  "; it must be an even number from 2 to the head's width");
  }
  if (spec.scaling == Scaling::dynamic && spec.rotated < 4) {
    return "of type dynamic needs at least 4 lanes";
  }
  if (spec.scaling == Scaling::yarn && spec.theta <= 1.0) {
    return concat("of type yarn needs a theta above 1, found ", spec.theta);
  }
  if (spec.scaling == Scaling::longrope && spec.original_positions < 2) {
    return "of type longrope needs an original context of at least 2 positions";
  }
  return "";
}

Result<rope::Spec> rope_from_config(const ConfigReader& config, RopeContext context,
                                    std::vector<std::string>& warnings) {
  ZLLM_TRY(const auto parameters, parameters_of(config));
  static const Json kNoParameters{Json::Object{}};
  ZLLM_TRY(const auto empty, ConfigReader::open(kNoParameters, "config.json"));
  ZLLM_TRY(auto spec, read_parameters(config, parameters.value_or(empty), context, warnings));
  const std::string defect = rope_defect(spec, context.head);
  if (!defect.empty()) {
    return config.error(Code::invalid_file, "rope", defect);
  }
  // The formulas have the last word; their message names a field that is called much the same.
  ZLLM_TRY(rope::make_table(spec, spec.max_positions));
  return spec;
}

}  // namespace zllm::weight
