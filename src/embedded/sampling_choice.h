#pragma once

#include <cstddef>

#include <zllm/base/json.h>
#include <zllm/embedded/failure.h>
#include <zllm/embedded/request.h>
#include <zllm/sampling/parameters.h>

namespace zllm {

// What a generation_config.json (may be null) says. temperature: where it has none and does not say
// whether to sample. A model that is not to be sampled is greedy.
sampling::SamplingParameters model_sampling(const Json *generation_config, double temperature);

// The options over the model's usual parameters, with a fresh seed where none is given. Refuses
// values out of their range by field; bias only for ids below `vocabulary`.
Outcome<sampling::SamplingParameters> sampling_parameters(const SamplingOptions& options,
                                                          const sampling::SamplingParameters& usual,
                                                          std::size_t vocabulary);

}  // namespace zllm
