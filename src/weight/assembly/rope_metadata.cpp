#include <zllm/weight/assembly/rope_metadata.h>

#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <zllm/base/text.h>
#include <zllm/encoding/encoding.h>
#include <zllm/rope/reference.h>
#include <zllm/weight/assembly/config_reader.h>

namespace zllm::weight {
namespace {

using rope::Scaling;

constexpr NumberRange kGgufFactorRange{0.0, kRopeFactorRange.maximum};  // 0 stands for "none"
constexpr NumberRange kBetaRange{1e-6, 1e6};                            // rotations
constexpr NumberRange kKnobRange{-1e6, 1e6};

// Keys that change the formulas in ways that no model of a supported architecture uses.
constexpr std::string_view kLogMultiplier = "rope.scaling.yarn_log_multiplier";
constexpr std::array<std::pair<std::string_view, double>, 4> kNeutralKnobs = {{
    {"rope.scaling.yarn_ext_factor", 1.0},
    {"rope.scaling.yarn_attn_factor", 1.0},
    {kLogMultiplier, 0.0},
    {"rope.scaling.alpha", 0.0},
}};
constexpr NumberRange kMscaleRange{0.0, 1e3};

Result<std::vector<double>> factors_of(const TensorTable& tensors, std::string_view name,
                                       std::uint32_t frequencies) {
  const TensorEntry *entry = tensors.find(name);
  const auto defect = [&](std::string_view text) {
    return Error{Code::invalid_file, concat("tensor ", quote(name), " ", text)};
  };
  if (entry == nullptr) {
    return defect("is missing");
  }
  if (entry->shape != std::vector<std::uint64_t>{frequencies}) {
    return defect(concat("must have shape [", frequencies, "], one factor for each frequency"));
  }
  if (entry->encoding != encoding::Encoding::f32 ||
      entry->bytes.size() != frequencies * sizeof(float)) {
    return defect("must be stored as F32");
  }
  std::vector<float> decoded(frequencies);
  std::memcpy(decoded.data(), entry->bytes.data(), entry->bytes.size());
  for (const float factor : decoded) {
    if (!(factor >= kFrequencyDivisorRange.minimum && factor <= kFrequencyDivisorRange.maximum)) {
      return defect(concat("must hold ", describe(kFrequencyDivisorRange), ", found ", factor));
    }
  }
  return std::vector<double>(decoded.begin(), decoded.end());
}

Result<Scaling> scaling_of(const MetadataReader& metadata, const TensorTable& tensors,
                           double factor) {
  const bool has_factors = tensors.find(kRopeLongFactorsTensor) != nullptr ||
                           tensors.find(kRopeShortFactorsTensor) != nullptr;
  ZLLM_TRY(const auto type, metadata.string("rope.scaling.type"));
  if (!type) {
    const bool scales = factor != 0 && factor != 1;
    return has_factors ? Scaling::longrope : scales ? Scaling::linear : Scaling::none;
  }
  constexpr std::array<std::pair<std::string_view, Scaling>, 4> kTypes = {{
      {"none", Scaling::none},
      {"linear", Scaling::linear},
      {"yarn", Scaling::yarn},
      {"longrope", Scaling::longrope},
  }};
  for (const auto& [name, scaling] : kTypes) {
    if (name != *type) {
      continue;
    }
    if (has_factors && scaling != Scaling::longrope) {
      return metadata.error(Code::invalid_file, "rope.scaling.type",
                            concat(quote(name), " contradicts the tensors of longrope factors"));
    }
    return scaling;
  }
  return metadata.error(
      Code::unsupported, "rope.scaling.type",
      concat(quote(*type), " is not supported; known are none, linear, yarn and longrope"));
}

// mscale_all_dim of DeepSeek's yarn; 0 where the file does not state it.
Result<double> mscale_of(const MetadataReader& metadata) {
  constexpr NumberRange kRange{0.0, kMscaleRange.maximum / 10.0};
  ZLLM_TRY(const double tenth, metadata.number_or(kLogMultiplier, kRange, 0.0));
  return tenth * 10.0;
}

Result<double> factor_of(const MetadataReader& metadata) {
  ZLLM_TRY(const auto legacy, metadata.number("rope.scale_linear", kGgufFactorRange));
  ZLLM_TRY(const auto current, metadata.number("rope.scaling.factor", kGgufFactorRange));
  return current.value_or(legacy.value_or(0.0));
}

Status refuse_knobs(const MetadataReader& metadata, bool scales_scores) {
  for (const auto& [suffix, neutral] : kNeutralKnobs) {
    if (suffix == kLogMultiplier && scales_scores) {
      continue;
    }
    ZLLM_TRY(const auto value, metadata.number(suffix, kKnobRange));
    if (value && *value != neutral && !(suffix.ends_with("ext_factor") && *value == -1.0)) {
      return metadata.error(Code::unsupported, suffix, concat(*value, " is not supported"));
    }
  }
  if (metadata.has("rope.dimension_sections")) {
    return metadata.error(Code::unsupported, "rope.dimension_sections", "is not supported");
  }
  return {};
}

Status read_yarn(const MetadataReader& metadata, double amplitude, bool scales_scores,
                 rope::Spec& spec) {
  ZLLM_TRY(spec.beta_fast,
           metadata.number_or("rope.scaling.yarn_beta_fast", kBetaRange, spec.beta_fast));
  ZLLM_TRY(spec.beta_slow,
           metadata.number_or("rope.scaling.yarn_beta_slow", kBetaRange, spec.beta_slow));
  if (spec.beta_fast < spec.beta_slow) {
    return metadata.error(Code::invalid_file, "rope.scaling.yarn_beta_fast",
                          concat(spec.beta_fast, " is below yarn_beta_slow ", spec.beta_slow));
  }
  ZLLM_TRY(const double mscale, scales_scores ? mscale_of(metadata) : Result<double>(0.0));
  if (mscale != 0 && amplitude != 1.0) {
    return metadata.error(Code::unsupported, "rope.scaling.attn_factor",
                          concat(amplitude, " is not supported beside yarn_log_multiplier"));
  }
  if (mscale != 0) {
    spec.mscale = mscale;
    spec.mscale_all_dim = mscale;
  }
  if (amplitude != 1.0) {
    const double computed = spec.factor <= 1.0 ? 1.0 : 1.0 + 0.1 * std::log(spec.factor);
    spec.attention_factor = amplitude * computed;
  }
  return {};
}

Status read_scaling(const MetadataReader& metadata, const TensorTable& tensors, bool scales_scores,
                    rope::Spec& spec) {
  ZLLM_TRY(const double factor, factor_of(metadata));
  ZLLM_TRY(const double amplitude,
           metadata.number_or("rope.scaling.attn_factor", kAmplitudeRange, 1.0));
  ZLLM_TRY(const std::uint64_t original, metadata.integer_or("rope.scaling.original_context_length",
                                                             kPositionRange, spec.max_positions));
  ZLLM_TRY(refuse_knobs(metadata, scales_scores));
  ZLLM_TRY(spec.scaling, scaling_of(metadata, tensors, factor));
  if (spec.scaling == Scaling::none) {
    return {};
  }
  if (spec.scaling == Scaling::longrope) {
    spec.original_positions = original;
    spec.attention_factor = amplitude;
    ZLLM_TRY(spec.long_factors, factors_of(tensors, kRopeLongFactorsTensor, spec.rotated / 2));
    ZLLM_TRY(spec.short_factors, factors_of(tensors, kRopeShortFactorsTensor, spec.rotated / 2));
    return {};
  }
  if (factor < kRopeFactorRange.minimum) {
    return metadata.error(
        Code::invalid_file, "rope.scaling.factor",
        concat("must be ", describe(kRopeFactorRange), " for this type, found ", factor));
  }
  spec.factor = factor;
  if (spec.scaling == Scaling::yarn) {
    spec.original_positions = original;
    return read_yarn(metadata, amplitude, scales_scores, spec);
  }
  return {};
}

}  // namespace

Result<double> score_factor_from_metadata(const MetadataReader& metadata) {
  ZLLM_TRY(const double mscale, mscale_of(metadata));
  ZLLM_TRY(const auto type, metadata.string("rope.scaling.type"));
  if (mscale == 0 || (type && *type == "none")) {
    return 1.0;
  }
  ZLLM_TRY(const double factor, factor_of(metadata));
  return score_factor(factor, mscale);
}

Result<rope::Spec> rope_from_metadata(const MetadataReader& metadata, const TensorTable& tensors,
                                      RopeContext context, rope::Pairing pairing) {
  rope::Spec spec;
  spec.pairing = pairing;
  spec.max_positions = context.max_positions;
  ZLLM_TRY(spec.theta, metadata.number_or("rope.freq_base", kThetaRange, spec.theta));
  ZLLM_TRY(const auto rotated, metadata.integer("rope.dimension_count", kHeadWidthRange));
  spec.rotated = static_cast<std::uint32_t>(rotated.value_or(context.head));
  const std::string defect = rope_defect(spec, context.head);
  if (!defect.empty()) {
    return metadata.error(Code::invalid_file, "rope.dimension_count", defect);
  }
  ZLLM_TRY(read_scaling(metadata, tensors, context.scales_scores, spec));
  if (tensors.find(kRopeFrequenciesTensor) != nullptr) {
    ZLLM_TRY(spec.frequency_divisors,
             factors_of(tensors, kRopeFrequenciesTensor, spec.rotated / 2));
  }
  const std::string scaling_defect = rope_defect(spec, context.head);
  if (!scaling_defect.empty()) {
    return metadata.error(Code::invalid_file, "rope.scaling.type", scaling_defect);
  }
  ZLLM_TRY(rope::make_table(spec, spec.max_positions));
  return spec;
}

}  // namespace zllm::weight
