#pragma once

#include <zllm/base/json.h>
#include <zllm/base/result.h>
#include <zllm/model_spec/kimi_linear.h>

// The ways to the spec of Kimi Linear. Every number's range and every pair of keys that could
// contradict each other are checked; shapes of weights are not looked at.
namespace zllm::weight {

// From config.json of model type kimi_linear, in the spelling of transformers or of the
// checkpoint's own code, with the defaults of transformers.
Result<model_spec::KimiLinear> kimi_linear_from_config(const Json& config);

}  // namespace zllm::weight
