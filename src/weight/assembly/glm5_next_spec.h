#pragma once

#include <zllm/base/json.h>
#include <zllm/base/result.h>
#include <zllm/model_spec/glm5_next.h>

// The way to the spec of GLM-5.3-Flash. Every number's range and every pair of keys that could
// contradict each other are checked; shapes of weights are not looked at.
namespace zllm::weight {

// The object of config.json that describes the text model: text_config, else the whole.
const Json& glm5_next_text_config(const Json& config);

// From config.json of model type glm5_next or glm5_next_text, with the defaults of transformers.
// Whatever sees images is left out.
Result<model_spec::Glm5Next> glm5_next_from_config(const Json& config);

}  // namespace zllm::weight
