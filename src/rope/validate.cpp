#include <cmath>
#include <string_view>

#include <zllm/base/text.h>
#include <zllm/rope/reference.h>

namespace zllm::rope {
namespace {

Error refused(std::string_view field, std::string_view reason) {
  return {Code::invalid_file, concat("rope ", field, ": ", reason)};
}

Status positive(std::string_view field, double value) {
  if (!std::isfinite(value) || value <= 0.0) {
    return refused(field, concat("must be a finite number above 0, is ", value));
  }
  return {};
}

Status list(std::string_view field, const std::vector<double>& values, std::size_t count) {
  if (values.size() != count) {
    return refused(field, concat("has ", values.size(), " entries for ", count, " frequencies"));
  }
  for (const double value : values) {
    ZLLM_TRY(positive(field, value));
  }
  return {};
}

Status original_positions(const Spec& spec) {
  if (spec.original_positions < 2) {
    return refused("original_positions", "must be at least 2 for this scaling");
  }
  return {};
}

Status validate_dynamic(const Spec& spec) {
  if (spec.max_positions == 0) {
    return refused("max_positions", "must be given for dynamic scaling");
  }
  if (spec.rotated < 4) {
    return refused("rotated", "must be at least 4 for dynamic scaling");
  }
  return {};
}

Status validate_llama3(const Spec& spec) {
  ZLLM_TRY(original_positions(spec));
  ZLLM_TRY(positive("low_frequency_factor", spec.low_frequency_factor));
  ZLLM_TRY(positive("high_frequency_factor", spec.high_frequency_factor));
  if (spec.high_frequency_factor <= spec.low_frequency_factor) {
    return refused("high_frequency_factor", "must be above low_frequency_factor");
  }
  if (!spec.frequency_divisors.empty()) {
    return refused("frequency_divisors", "already hold what llama3 scaling would apply");
  }
  return {};
}

Status validate_yarn(const Spec& spec) {
  ZLLM_TRY(original_positions(spec));
  ZLLM_TRY(positive("beta_fast", spec.beta_fast));
  ZLLM_TRY(positive("beta_slow", spec.beta_slow));
  if (spec.beta_fast < spec.beta_slow) {
    return refused("beta_fast", "must be at least beta_slow");
  }
  if (spec.theta <= 1.0) {
    return refused("theta", "must be above 1 for yarn scaling");
  }
  for (const auto& [field, value] :
       {std::pair{"mscale", spec.mscale}, std::pair{"mscale_all_dim", spec.mscale_all_dim}}) {
    if (value && (!std::isfinite(*value) || *value < 0.0)) {
      return refused(field, concat("must be a finite number of at least 0, is ", *value));
    }
  }
  return {};
}

Status validate_longrope(const Spec& spec) {
  ZLLM_TRY(original_positions(spec));
  ZLLM_TRY(list("short_factors", spec.short_factors, spec.rotated / 2));
  ZLLM_TRY(list("long_factors", spec.long_factors, spec.rotated / 2));
  if (!spec.frequency_divisors.empty()) {
    return refused("frequency_divisors", "cannot go with longrope's own factors");
  }
  return {};
}

Status validate_scaling(const Spec& spec) {
  switch (spec.scaling) {
    case Scaling::none:
    case Scaling::linear:
      return {};
    case Scaling::dynamic:
      return validate_dynamic(spec);
    case Scaling::llama3:
      return validate_llama3(spec);
    case Scaling::yarn:
      return validate_yarn(spec);
    case Scaling::longrope:
      return validate_longrope(spec);
  }
  return refused("scaling", "is none of its enumerators");
}

}  // namespace

Status validate(const Spec& spec) {
  if (spec.rotated == 0 || spec.rotated % 2 != 0) {
    return refused("rotated", concat("must be even and above 0, is ", spec.rotated));
  }
  if (!std::isfinite(spec.theta) || spec.theta < 1.0) {
    return refused("theta", concat("must be a finite number of at least 1, is ", spec.theta));
  }
  ZLLM_TRY(positive("factor", spec.factor));
  if (spec.attention_factor) {
    ZLLM_TRY(positive("attention_factor", *spec.attention_factor));
  }
  if (!spec.frequency_divisors.empty()) {
    ZLLM_TRY(list("frequency_divisors", spec.frequency_divisors, spec.rotated / 2));
  }
  return validate_scaling(spec);
}

}  // namespace zllm::rope
